package simulator

import (
	"sync"

	"github.com/worqr/worqr-go/internal/wire"
)

// source is one script as the library sends it.
type source struct{ name, text, sha string }

// sources are all scripts. The boundary test fails when the library sends any other.
var sources = sync.OnceValue(func() map[string]source {
	all := map[string]source{}
	for _, s := range wire.Scripts() {
		all[s.Name] = source{s.Name, s.Source, s.SHA}
	}
	return all
})

// meshScripts are those that work in the slot of the mesh.
var meshScripts = func() map[string]bool {
	mesh := map[string]bool{}
	for _, s := range wire.Scripts() {
		mesh[s.Name] = s.Slot == "mesh"
	}
	return mesh
}()

// nameOf gives the script that has this hash, "" for none.
func nameOf(sha string) string { return shas()[sha] }

var shas = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for name, s := range sources() {
		names[s.sha] = name
	}
	return names
})
