package presence

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

// The socket is found below TLS, whoever added the TLS.
func TestUnderTLS(t *testing.T) {
	server := redistest.Own(t)
	addr, roots := terminator(t, server.Addr())
	config := &tls.Config{RootCAs: roots, ServerName: "localhost"}
	plain := func(ctx context.Context, network, address string) (net.Conn, error) {
		return (&tls.Dialer{Config: config}).DialContext(ctx, network, address)
	}
	for name, dial := range map[string]func(context.Context) (redis.Conn, error){
		"by redigo": func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", addr, redis.DialUseTLS(true), redis.DialTLSConfig(config), redis.DialContextFunc(Through((&net.Dialer{}).DialContext)))
		},
		"by the dialler": func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", addr, redis.DialContextFunc(Through(plain)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, server, Config{Dial: dial})
			r.up()
			if r.Kernel() != (runtime.GOOS == "linux") {
				t.Fatalf("Kernel is %v", r.Kernel())
			}
			since := r.Since()
			r.kill()
			redistest.Eventually(t, soon, "another subscription", func() bool { return r.Since().After(since) })
			r.up()
			r.told1(2, 0)
		})
	}
}

// terminator speaks TLS in front of a server, as stunnel does. It returns its address and the
// certificates to trust.
func terminator(t *testing.T, server string) (string, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { forward(client, server) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return l.Addr().String(), roots
}

// forward joins two connections until either ends.
func forward(client net.Conn, server string) {
	up, err := net.Dial("tcp", server)
	if err != nil {
		client.Close()
		return
	}
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{client, up}, {up, client}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			pair[0].Close()
			pair[1].Close()
		})
	}
	both.Wait()
}
