# make test needs nothing but Go: without Docker (with an image) or redis-server it fetches one into .cache/.
GO ?= go
NESTED := tools bench bench/adapter
LONGEST := ./integration/simulator ./worqr ./integration/model
DIR ?=

.DEFAULT_GOAL := help
RUNS ?= 1000
SEED ?=
MUTANTS ?=
SHARD ?= 1/1

.PHONY: help demo test race faults mutants bench bench-compare scripts lint ci

help: ## show this
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: ## four workers hash a tree of files; one is killed, one is frozen; nothing is lost (DIR=another tree)
	@DIR="$(DIR)" $(GO) run ./demo/mesh

# One package measures time: nothing runs beside it. Of the others the longest start first: two that
# compute, and one that waits.
test: ## every test, on a real Redis
	@scripts/redis
	$(GO) test -timeout 20m ./integration
	$(GO) test -p 3 -timeout 20m $(LONGEST) $$($(GO) list ./... | grep -vE '^[^/]+/[^/]+/[^/]+/integration$$')
	cd bench && $(GO) test ./...
	cd bench/adapter && $(GO) test ./...

race: ## the concurrent packages under the race detector
	@scripts/redis
	$(GO) test -race -p 2 -short -timeout 20m ./worqr/... ./events/... ./heartbeat/... ./internal/...

faults: ## random faults against persistent tasks (RUNS=1000, SEED=a number)
	@scripts/redis
	@mkdir -p .cache
	@{ WORQR_FAULT_RUNS="$(RUNS)" WORQR_FAULT_SEED="$(SEED)" $(GO) test ./integration/faults -run 'TestFaults$$' -count=1 -timeout 120m -v; \
		echo $$? > .cache/faults.exit; } | tee .cache/faults.log
	@grep '^runs ' .cache/faults.log; exit $$(cat .cache/faults.exit)

mutants: ## one wrong line at a time: do the tests notice? Hours (MUTANTS=leave.lua, SEED=a number, SHARD=1/20, JSON=a file)
	@scripts/redis
	$(GO) run ./integration/mutants -only "$(MUTANTS)" -seed "$(or $(SEED),1)" -shard "$(SHARD)" -json "$(JSON)"

bench: ## this library beside its peers, into docs/benchmarks (QUICK=1: the ratios at 64 only, under 50 s)
	@scripts/redis
	cd bench && $(GO) run .

bench-compare: ## the Go benchmarks of this tree against those of another revision (BASE=revision)
	@scripts/redis
	@BASE="$(or $(BASE),HEAD)" scripts/bench-compare

scripts: ## docs/scripts.json anew, after a change of internal/wire/lua
	$(GO) test ./internal/wire -run 'TestTheScriptsFileIsCurrent$$' -count=1 -write-scripts

lint: ## gofmt, vet, staticcheck, and that go.mod is tidy
	@files=$$(gofmt -l . | grep -v '^\.cache/' || true); if [ -n "$$files" ]; then echo "not formatted:" $$files; exit 1; fi
	$(GO) vet ./...
	$(GO) tool -modfile=tools/go.mod staticcheck ./...
	$(GO) mod tidy -diff
	@for dir in $(NESTED); do echo "checking the module in $$dir"; (cd $$dir && $(GO) mod verify && $(GO) mod tidy -diff && $(GO) vet ./...) || exit 1; done

ci: test race lint ## all of it
