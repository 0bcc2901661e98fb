package main

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// goMutants returns the mistakes of a Go file.
func goMutants(file, text string) ([]mutant, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, text, 0)
	if err != nil {
		return nil, err
	}
	e := &edits{file: file, text: text}
	place := func(p token.Pos) int { return set.Position(p).Offset }
	replace := func(kind string, from, to token.Pos, with string) { e.add(kind, place(from), place(to), with) }
	source := func(n ast.Node) string { return text[place(n.Pos()):place(n.End())] }
	// A condition is kept behind what decides, so that all names in it stay in use.
	never := func(n ast.Expr) { replace("check", n.Pos(), n.End(), "false && ("+source(n)+")") }
	always := func(n ast.Expr) { replace("check", n.Pos(), n.End(), "true || ("+source(n)+")") }
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			never(n.Cond)
			if !guards(n.Body) {
				always(n.Cond)
			}
		case *ast.CaseClause:
			for _, x := range n.List {
				if b, ok := x.(*ast.BinaryExpr); ok && (flips[b.Op.String()] != "" || b.Op == token.LAND || b.Op == token.LOR || b.Op == token.NEQ) {
					never(x)
				}
			}
		case *ast.BinaryExpr:
			switch op := n.Op.String(); op {
			case "&&", "||":
				replace("check", n.X.Pos(), n.Y.Pos(), "")
				replace("check", n.X.End(), n.Y.End(), "")
			case "!=":
				replace("flip", n.OpPos, n.OpPos+2, "==")
			case "==":
				replace("flip", n.OpPos, n.OpPos+2, "!=")
			case "<", "<=", ">", ">=":
				replace("flip", n.OpPos, n.OpPos+token.Pos(len(op)), flips[op])
			case "+", "-":
				if lit, ok := n.Y.(*ast.BasicLit); !ok || lit.Kind == token.INT {
					replace("off", n.X.End(), n.Y.End(), "")
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				replace("flip", n.Pos(), n.X.Pos(), "")
			}
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); ok && len(n.Args) == 2 && (name.Name == "min" || name.Name == "max") {
				replace("end", name.Pos(), name.End(), map[string]string{"min": "max", "max": "min"}[name.Name])
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt:
			replace("step", n.Pos(), n.End(), "if false { "+source(n)+" }")
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				replace("step", n.Pos(), n.End(), "if false { "+source(n)+" }")
			}
		}
		return true
	})
	return e.sorted(), nil
}

// guards reports whether a block does nothing but leave.
func guards(b *ast.BlockStmt) bool {
	if len(b.List) != 1 {
		return false
	}
	switch b.List[0].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}
