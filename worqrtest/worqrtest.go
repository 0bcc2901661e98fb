package worqrtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/worqr/worqr-go/internal/embedded"
	"github.com/worqr/worqr-go/worqr"
)

// envURL names the variable with the URL of a Redis to use in place of the server inside the
// process.
const envURL = "WORQR_TEST_REDIS_URL"

// openLimit is how long a server may take to accept the mesh.
const openLimit = 10 * time.Second

// NewMesh returns an empty mesh. When the test ends, the mesh is closed, which ends its workers;
// nothing is left of it.
//
// Each call returns a mesh of its own: what one mesh enqueues no other one sees.
func NewMesh(t testing.TB) *worqr.Mesh {
	t.Helper()
	mesh, end, err := open()
	if err != nil {
		t.Fatalf("worqrtest: %v", err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Errorf("worqrtest: %v", err)
		}
	})
	return mesh
}

// Open is NewMesh for an Example, which has no testing.TB: the caller calls end. Open panics when
// there is no mesh to be had.
func Open() (mesh *worqr.Mesh, end func()) {
	mesh, closeAll, err := open()
	if err != nil {
		panic("worqrtest: " + err.Error())
	}
	return mesh, func() {
		if err := closeAll(); err != nil {
			panic("worqrtest: " + err.Error())
		}
	}
}

func open() (*worqr.Mesh, func() error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openLimit)
	defer cancel()
	if url := os.Getenv(envURL); url != "" {
		namespace := newNamespace()
		mesh, err := worqr.Open(ctx, url, worqr.Config{Namespace: namespace})
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", envURL, err)
		}
		return mesh, func() error { return errors.Join(mesh.Close(), removeKeys(url, namespace)) }, nil
	}
	server, err := embedded.Start()
	if err != nil {
		return nil, nil, err
	}
	mesh, err := worqr.Open(ctx, server.URL(), worqr.Config{})
	if err != nil {
		server.Close()
		return nil, nil, err
	}
	return mesh, func() error {
		defer server.Close() // its workers leave before it goes
		return mesh.Close()
	}, nil
}

func newNamespace() string {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return "worqrtest-" + hex.EncodeToString(random[:])
}
