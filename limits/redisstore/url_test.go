package redisstore_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/owntest"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
)

// An address is taken or refused as a whole, and a refusal doesn't repeat it.
func TestURL(t *testing.T) {
	for _, good := range []string{
		"redis://localhost", "redis://localhost:6379", "redis://localhost:6379/3", "redis://:CANARY@localhost", "redis://user:CANARY@host:1/0",
		"rediss://h.example.com", "redis://[::1]:6379", "unix:///run/redis.sock", "redis://localhost/",
	} {
		require.NoError(t, redisstore.CheckURL(good), good)
	}
	for _, bad := range []string{
		"", "localhost:6379", "http://localhost", "redis://", "redis://:6379", "redis://:CANARY@:6379", "redis://h:CANARY",
		"redis://h:99999", "redis://h/CANARY", "redis://h/1/2", "redis://h/-1",
		"redis://h?skip_verify=true", "rediss://h?skip_verify=CANARY", "redis://h?", "redis://h#CANARY", "redis:h",
		"redis://user:CA%NARY@h", "redis://h\nCANARY", "unix://", "REDISX://h",
	} {
		err := redisstore.CheckURL(bad)
		require.ErrorIs(t, err, redisstore.ErrURL, bad)
		require.NotContains(t, err.Error(), "CANARY")
		_, err = redisstore.Open(redisstore.Options{URL: bad})
		require.ErrorIs(t, err, redisstore.ErrURL)
	}
}

// No address breaks the parser, and what it takes names a host.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"redis://u:p@h:1/2", "rediss://[::1]", "unix:///x?db=1", "redis://h?a=b", "redis://%zz", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if redisstore.CheckURL(raw) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.RawQuery != "" || u.Scheme != "unix" && u.Hostname() == "" {
			t.Fatalf("%q was taken", raw)
		}
	})
}

// certificate makes one for the loopback that vouches for itself.
func certificate(t *testing.T, dir string) (pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600))
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool = x509.NewCertPool()
	pool.AddCert(cert)
	return pool
}

// rediss:// speaks TLS only with a server whose certificate an authority vouches
// for. For another server the error is a refusal, not ErrAway.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	pool := certificate(t, dir)
	port, err := owntest.FreePort()
	require.NoError(t, err)
	redistest.Start(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", filepath.Join(dir, "cert.pem"),
		"--tls-key-file", filepath.Join(dir, "key.pem"), "--tls-auth-clients", "no")
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))

	s := open(t, redisstore.Options{URL: "rediss://" + address, TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}})
	require.NoError(t, try(t, s, "1"))

	s = open(t, redisstore.Options{URL: "rediss://" + address})
	err = try(t, s, "1")
	require.ErrorContains(t, err, "TLS")
	require.NotErrorIs(t, err, limits.ErrAway)

	s = open(t, redisstore.Options{URL: "redis://" + address, Timeout: time.Second})
	require.Error(t, try(t, s, "1"), "plain text to a TLS port")
}
