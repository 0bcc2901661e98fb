package guard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/worqr/worqr-go"

// What a user of the library links: redigo, uuid, zerolog and zerolog's own three dependencies.
var allowed = []string{
	"github.com/gomodule/redigo/", "github.com/google/uuid", "github.com/rs/zerolog",
	"github.com/mattn/go-colorable", "github.com/mattn/go-isatty", "golang.org/x/sys/",
	module + "/worqr", module + "/events", module + "/heartbeat", module + "/internal/pipeline",
	module + "/internal/presence", module + "/internal/share", module + "/internal/subscribe", module + "/internal/wire",
}

func TestTheLibraryLinksNothingElse(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}",
		module+"/worqr", module+"/events", module+"/heartbeat").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 5 {
		t.Fatalf("go list names only %v", deps)
	}
	for _, dep := range deps {
		if !slices.ContainsFunc(allowed, func(a string) bool {
			return dep == strings.TrimSuffix(a, "/") || strings.HasPrefix(dep, strings.TrimSuffix(a, "/")+"/")
		}) {
			t.Errorf("the library links %s", dep)
		}
	}
}

// Imports go one way: worqr -> heartbeat, and internal/pipeline, presence, share, subscribe and
// wire -> events. heartbeat and events import the standard library only.
func TestImportsGoOneWay(t *testing.T) {
	may := map[string][]string{
		"heartbeat": {},
		"events":    {},
		"worqr": {
			module + "/events", module + "/heartbeat", module + "/internal/pipeline", module + "/internal/presence",
			module + "/internal/share", module + "/internal/subscribe", module + "/internal/wire",
		},
		"internal/subscribe": {module + "/events"},
	}
	for dir, targets := range may {
		for path, file := range library(t, dir) {
			for _, spec := range file.Imports {
				target, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(target, module) && !slices.Contains(targets, target) {
					t.Errorf("%s imports %s", path, target)
				}
				if (dir == "heartbeat" || dir == "events") && strings.Contains(target, ".") {
					t.Errorf("%s imports %s: the standard library only", path, target)
				}
			}
		}
	}
}

// Only Lua publishes.
func TestOnlyLuaPublishes(t *testing.T) {
	for path, file := range library(t, "worqr", "events", "heartbeat", "examples", "demo", "internal/subscribe") {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if n.Kind == token.STRING && strings.Contains(strings.ToUpper(n.Value), "\"PUBLISH\"") {
					t.Errorf("%s sends PUBLISH", path)
				}
			case *ast.SelectorExpr:
				if n.Sel.Name == "Publish" {
					t.Errorf("%s publishes", path)
				}
			}
			return true
		})
	}
}

// Only the commander and a line send commands; internal/subscribe/listener.go has the connection
// that subscribes.
func TestOnlyTheCommanderAndALineSendCommands(t *testing.T) {
	sends := []string{"Do", "DoContext", "DoWithTimeout", "Send", "Flush"}
	for path, names := range calls(t, "worqr", "events", "heartbeat", "examples", "demo", "internal/subscribe") {
		if path == "worqr/commander.go" || path == "worqr/line.go" || path == "internal/subscribe/listener.go" {
			continue
		}
		for _, name := range names {
			if slices.Contains(sends, name) {
				t.Errorf("%s calls %s", path, name)
			}
		}
	}
}

// Only internal/subscribe/listener.go subscribes.
func TestOnlyTheListenerSubscribes(t *testing.T) {
	subscribes := []string{"Subscribe", "PSubscribe", "Unsubscribe", "PUnsubscribe", "ReceiveWithTimeout", "ReceiveContext"}
	found := false
	for path, names := range calls(t, "worqr", "events", "heartbeat", "examples", "demo", "internal/subscribe") {
		for _, name := range names {
			if !slices.Contains(subscribes, name) {
				continue
			}
			if path != "internal/subscribe/listener.go" {
				t.Errorf("%s calls %s", path, name)
			}
			found = true
		}
	}
	if !found {
		t.Error("nobody subscribes: this test looks for the wrong names")
	}
}

// Only heartbeat decides that time is up: the rest waits for contexts, and pauses between attempts.
func TestOnlyHeartbeatDecidesThatTimeIsUp(t *testing.T) {
	decides := []string{"AfterFunc", "NewTicker", "Tick", "After", "Before"}
	for path, file := range library(t, "worqr") {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(decides, s.Sel.Name) {
				if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "context" {
					return true // context.AfterFunc waits for an end that is decided elsewhere
				}
				t.Errorf("%s calls %s", path, s.Sel.Name)
			}
			return true
		})
	}
}

// calls returns the names of the methods and functions of other packages that each file calls.
func calls(t *testing.T, dirs ...string) map[string][]string {
	list := map[string][]string{}
	for path, file := range library(t, dirs...) {
		list[path] = nil
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if s, ok := call.Fun.(*ast.SelectorExpr); ok {
					list[path] = append(list[path], s.Sel.Name)
				}
			}
			return true
		})
	}
	return list
}

// library parses the files of these folders, except tests and internal packages.
func library(t *testing.T, dirs ...string) map[string]*ast.File {
	t.Helper()
	root := filepath.Join("..", "..")
	files := map[string]*ast.File{}
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && d.Name() == "internal" {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			files[filepath.ToSlash(name)] = file
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if len(files) == 0 {
		t.Fatalf("no file in %v", dirs)
	}
	return files
}
