package redistest

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ory/dockertest/v3"
	dc "github.com/ory/dockertest/v3/docker"
)

const (
	// pullLimit is short while there is something to fall back on: a machine
	// without a registry must not hang.
	pullLimit     = 10 * time.Second
	pullOnlyLimit = 2 * time.Minute

	madeRepository = "worqr-redistest"
)

// image is what a container runs.
type image struct {
	repository, tag string
	command         string   // the server in it
	env             []string // its environment
}

func (i image) name() string { return i.repository + ":" + i.tag }

// official is an image of the registry: redis-server is in its PATH, and its
// working folder is its data folder. Images of valkey have the name too.
func official(name string) image {
	repository, tag := name, "latest"
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		repository, tag = name[:colon], name[colon+1:]
	}
	return image{repository: repository, tag: tag, command: "redis-server"}
}

// findImage returns the image that is asked for, or one that is present, or pulls one, or makes one
// of this machine's redis-server.
func findImage(pool *dockertest.Pool) (image, error) {
	if name := os.Getenv("WORQR_TEST_REDIS_IMAGE"); name != "" {
		img := official(name)
		if has(pool, img) {
			return img, nil
		}
		return img, pull(pool, img, pullOnlyLimit)
	}
	for _, name := range []string{"redis:7-alpine", "redis:7", "redis:alpine", "redis:latest"} {
		if img := official(name); has(pool, img) {
			return img, nil
		}
	}
	bin, noBinary := findBinary()
	if noBinary != nil {
		img := official("redis:7-alpine")
		return img, errors.Join(pull(pool, img, pullOnlyLimit), noBinary)
	}
	made, files, err := imageOf(bin)
	if err == nil && has(pool, made) {
		return made, nil
	}
	img := official("redis:7-alpine")
	noPull := pull(pool, img, pullLimit)
	if noPull == nil {
		return img, nil
	}
	if err == nil {
		err = build(pool, made, files)
	}
	if err != nil {
		return made, errors.Join(noPull, err)
	}
	return made, nil
}

func has(pool *dockertest.Pool, img image) bool {
	_, err := pool.Client.InspectImage(img.name())
	return err == nil
}

func pull(pool *dockertest.Pool, img image, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := pool.Client.PullImage(dc.PullImageOptions{
		Repository: img.repository, Tag: img.tag, OutputStream: io.Discard, Context: ctx,
	}, dc.AuthConfiguration{})
	if err != nil {
		return fmt.Errorf("docker: pull %s: %w", img.name(), err)
	}
	return nil
}

// imageOf returns the name of the image that is made from a binary; the tag changes when one of its
// files does.
func imageOf(bin binary) (image, []string, error) {
	libs, err := bin.needs()
	if err != nil {
		return image{}, nil, err
	}
	files := append([]string{bin.path}, libs...)
	sum := sha256.New()
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			return image{}, nil, err
		}
		fmt.Fprintln(sum, path, info.Size(), info.ModTime().UnixNano())
	}
	img := image{repository: madeRepository, tag: hex.EncodeToString(sum.Sum(nil))[:12], command: bin.path}
	if len(bin.libs) > 0 {
		img.env = []string{"LD_LIBRARY_PATH=" + strings.Join(bin.libs, ":")}
	}
	return img, files, nil
}

// build imports the files as an image, at the paths they have here.
func build(pool *dockertest.Pool, img image, files []string) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(pack(w, files)) }()
	err := pool.Client.ImportImage(dc.ImportImageOptions{
		Repository: img.repository, Tag: img.tag, Source: "-", InputStream: r, OutputStream: io.Discard,
	})
	r.Close() // ends pack when the daemon did not read it all
	if err != nil {
		return fmt.Errorf("docker: import %s: %w", img.name(), err)
	}
	return nil
}

func pack(w io.Writer, files []string) error {
	tw := tar.NewWriter(w)
	for _, dir := range []string{"data/", "tmp/"} {
		if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o777}); err != nil {
			return err
		}
	}
	for _, path := range files {
		if err := packFile(tw, path); err != nil {
			return err
		}
	}
	return tw.Close()
}

// packFile follows links: the name that is looked up gets the content.
func packFile(tw *tar.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(filepath.Clean(path), "/")
	if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(tw, f)
	return err
}
