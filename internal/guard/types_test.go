package guard

import (
	"go/ast"
	"os"
	"path"
	"testing"
)

const (
	mostFields  = 24
	mostMethods = 30
)

type measure struct{ fields, methods int }

// What has grown beyond the measure, and how far. These numbers only go down.
var grown = map[string]measure{
	"worqr.membership": {39, 53},
	"worqr.life":       {34, 39},
	"worqr.Mesh":       {15, 42},
	"worqr.Worker":     {23, 41},
}

// A type that one reader can hold in mind.
func TestNoTypeOutgrowsItsReader(t *testing.T) {
	dirs := []string{"worqr", "events", "heartbeat"}
	inner, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range inner {
		dirs = append(dirs, "internal/"+d.Name())
	}
	types := map[string]measure{}
	for file, parsed := range library(t, dirs...) {
		for _, decl := range parsed.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv != nil {
					name := path.Dir(file) + "." + receiver(decl.Recv.List[0].Type)
					m := types[name]
					m.methods++
					types[name] = m
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						if s, ok := spec.Type.(*ast.StructType); ok {
							name := path.Dir(file) + "." + spec.Name.Name
							m := types[name]
							for _, field := range s.Fields.List {
								m.fields += max(1, len(field.Names))
							}
							types[name] = m
						}
					}
				}
			}
		}
	}
	if len(types) < 50 {
		t.Fatalf("only %d types are found", len(types))
	}
	for name, m := range types {
		most, known := grown[name]
		most.fields, most.methods = max(most.fields, mostFields), max(most.methods, mostMethods)
		if m.fields > most.fields || m.methods > most.methods {
			t.Errorf("%s has %d fields and %d methods, at most %d and %d are allowed: make a part of it a type", name, m.fields, m.methods, most.fields, most.methods)
		}
		if was := grown[name]; known && (max(m.fields, mostFields) < most.fields || max(m.methods, mostMethods) < most.methods || m.fields <= mostFields && m.methods <= mostMethods) {
			t.Errorf("%s has %d fields and %d methods, the list says %d and %d: write the new numbers", name, m.fields, m.methods, was.fields, was.methods)
		}
	}
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}
