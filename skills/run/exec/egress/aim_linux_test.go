package egress_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills/run/exec/egress"
)

// origin is a pair of servers on this machine's loopback address.
type origin struct {
	plain, secure uint16
	roots         string // a file with what verifies them
}

func startOrigin(t testing.TB) origin {
	t.Helper()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %d", r.Method, r.Host, len(b))
	})
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	o := origin{plain: portOf(t, plain.Listener.Addr()), secure: portOf(t, secure.Listener.Addr()),
		roots: filepath.Join(t.TempDir(), "roots.pem")}
	raw := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	require.NoError(t, os.WriteFile(o.roots, raw, 0o644))
	return o
}

func portOf(t testing.TB, a net.Addr) uint16 {
	t.Helper()
	to, err := netip.ParseAddrPort(a.String())
	require.NoError(t, err)
	return to.Port()
}

func joinPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// lookupLocal says that every name is this machine's.
func lookupLocal(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// newSandbox serves a list of hosts, all of which may be on this machine.
func newSandbox(t testing.TB, allow []string, list ...string) sandbox {
	t.Helper()
	p, err := egress.Parse("run.exec.egress", list, allow)
	require.NoError(t, err)
	return sandbox{policy: p, options: egress.Options{Lookup: lookupLocal}}
}

// A listed host is reached with the proxy's variables and without them, by curl and
// by Go's own client, over TLS and plainly, by its name and through a wildcard.
func TestListedHost(t *testing.T) {
	t.Parallel()
	asEachUser(t, func(t *testing.T) {
		o := startOrigin(t)
		for _, proxied := range []bool{false, true} {
			s := newSandbox(t, []string{"example.com", "www.example.com"}, joinPort("example.com", o.secure), joinPort("*.example.com",
				o.secure), joinPort("example.com", o.plain))
			s.proxied = proxied
			via := map[bool]egress.Via{false: egress.ViaDirect, true: egress.ViaProxy}[proxied]
			for _, row := range []struct {
				url, host string
				port      uint16
			}{
				{"https://" + joinPort("example.com", o.secure) + "/", "example.com", o.secure},
				{"https://" + joinPort("WWW.example.com", o.secure) + "/", "www.example.com", o.secure},
				{"http://" + joinPort("example.com", o.plain) + "/", "example.com", o.plain},
			} {
				for _, argv := range [][]string{
					{"curl", "-sS", "--cacert", o.roots, row.url},
					{probeName, "get", row.url, o.roots},
				} {
					r := s.run(t, argv...)
					require.Zero(t, r.code, "%s %v: %s", argv[0], proxied, r.stderr)
					require.Contains(t, r.stdout, "GET ")
					require.Len(t, r.rows, 1, "%v", r.outcomes())
					c := r.rows[0]
					require.Equal(t, egress.Connected, c.Outcome)
					require.Equal(t, via, c.Via)
					require.Equal(t, row.host, strings.ToLower(c.Host))
					require.Equal(t, row.port, c.Port)
					require.Equal(t, joinPort("127.0.0.1", row.port), c.Address.String())
					require.Positive(t, c.Out)
					require.Positive(t, c.In)
					require.Equal(t, egress.Totals{Connections: 1, Out: c.Out, In: c.In}, r.totals)
				}
			}
		}
	})
}

// A system without IPv6, or with it switched off, serves IPv4, and IPv6 fails.
func TestWithoutIPv6(t *testing.T) {
	t.Parallel()
	asEachUser(t, func(t *testing.T) {
		o := startOrigin(t)
		for _, what := range []string{withoutIPv6, ipv6Off} {
			s := newSandbox(t, []string{"example.com"}, joinPort("example.com", o.secure))
			s.without = what
			for _, proxied := range []bool{false, true} {
				s.proxied = proxied
				r := s.run(t, "curl", "-sS", "--cacert", o.roots, "https://"+joinPort("example.com", o.secure))
				require.Zero(t, r.code, "%s: %s", what, r.stderr)
				require.Equal(t, int64(1), r.totals.Connections)
			}
			r := s.run(t, probeName, "lookup", "udp", "secret.evil.test.", "8.8.8.8:53")
			require.NotZero(t, r.code)
			require.Contains(t, r.outcomes(), "dns host_not_listed secret.evil.test:0")
			r = s.run(t, probeName, "dial", "tcp", joinPort("2606:4700::1111", o.secure))
			require.NotZero(t, r.code)
			require.Zero(t, r.totals.Connections)
		}
	})
}

// Everything else fails, and each attempt is recorded.
func TestAllElseFails(t *testing.T) {
	t.Parallel()
	asEachUser(t, func(t *testing.T) {
		o := startOrigin(t)
		port := strconv.Itoa(int(o.secure))
		secure := "https://" + joinPort("example.com", o.secure)
		other := "https://" + joinPort("other.test", o.secure) + "/"
		for name, row := range map[string]struct {
			proxied bool
			argv    []string
			record  string
		}{
			"another host":           {false, []string{"curl", "-sS", "--cacert", o.roots, other}, "dns host_not_listed other.test:0"},
			"another host, by proxy": {true, []string{"curl", "-sS", "--cacert", o.roots, other}, "proxy host_not_listed other.test:" + port},
			"plainly, by proxy":      {true, []string{"curl", "-sSf", "http://other.test/"}, "proxy host_not_listed other.test:80"},
			"an address": {false, []string{"curl", "-sSk", "https://" + joinPort("8.8.8.8", o.secure)},
				"direct address_not_listed 8.8.8.8:" + port},
			"an address, by proxy": {true, []string{"curl", "-sSk", "https://" + joinPort("8.8.8.8", o.secure)},
				"proxy address_not_listed 8.8.8.8:" + port},
			"this machine": {false, []string{probeName, "dial", "tcp", joinPort("127.0.0.1", o.secure)},
				"direct address_not_listed 127.0.0.1:" + port},
			"this machine, by proxy": {true, []string{"curl", "-sSk", "--noproxy", "", "https://" + joinPort("127.0.0.1", o.secure)},
				"proxy address_not_listed 127.0.0.1:" + port},
			"another port":           {false, []string{"curl", "-sSk", "https://example.com:1443"}, "tcp port_not_listed 198.18.0.1:1443"},
			"another port, by proxy": {true, []string{"curl", "-sSk", "https://example.com:1443"}, "proxy port_not_listed example.com:1443"},
			"an address, other port": {false, []string{probeName, "dial", "tcp", "8.8.8.8:1443"}, "tcp port_not_listed 8.8.8.8:1443"},
			"UDP":                    {false, []string{probeName, "dial", "udp", "8.8.8.8:443"}, "udp protocol 8.8.8.8:443"},
			"UDP to a listed host": {false, []string{probeName, "dial", "udp", joinPort("example.com", o.secure)},
				"udp protocol 198.18.0.1:" + port},
			"UDP, IPv6": {false, []string{probeName, "dial", "udp", "[2606:4700::1111]:443"}, "udp protocol 2606:4700::1111:443"},
			"IPv6": {false, []string{"curl", "-sSkg", "https://" + joinPort("2606:4700::1111", o.secure)},
				"direct address_not_listed 2606:4700::1111:" + port},
			"IPv6, other port": {false, []string{probeName, "dial", "tcp", "[2606:4700::1111]:1443"},
				"tcp port_not_listed 2606:4700::1111:1443"},
			"IPv6, by proxy": {true, []string{"curl", "-sSkg", "https://" + joinPort("2606:4700::1111", o.secure)},
				"proxy address_not_listed 2606:4700::1111:" + port},
			"DNS": {false, []string{probeName, "lookup", "udp", "secret.evil.test.", ""},
				"dns host_not_listed secret.evil.test:0"},
			"DNS of another server": {false, []string{probeName, "lookup", "udp", "secret.evil.test.", "8.8.8.8:53"},
				"dns host_not_listed secret.evil.test:0"},
			"DNS by TCP": {false, []string{probeName, "lookup", "tcp", "secret.evil.test.", "8.8.8.8:53"},
				"dns host_not_listed secret.evil.test:0"},
			"DNS by IPv6": {false, []string{probeName, "lookup", "udp", "secret.evil.test.", "[2606:4700::1111]:53"},
				"dns host_not_listed secret.evil.test:0"},
			"a metadata address": {false, []string{probeName, "dial", "tcp", "169.254.169.254:80"}, "tcp metadata 169.254.169.254:80"},
			"one at a listed port": {false, []string{probeName, "dial", "tcp", joinPort("169.254.169.254", o.secure)},
				"direct metadata 169.254.169.254:" + port},
			"one by proxy": {true, []string{"curl", "-sSf", "http://169.254.169.254/latest/"}, "proxy metadata 169.254.169.254:80"},
			"one by name": {true, []string{"curl", "-sSf", "http://metadata.google.internal/"},
				"proxy metadata metadata.google.internal:80"},
			"one by name, DNS": {false, []string{probeName, "lookup", "udp", "metadata.google.internal.", ""},
				"dns metadata metadata.google.internal:0"},
			"a private address": {true, []string{"curl", "-sSk", secure[:len(secure)-len(port)] + "8443"},
				"proxy address_private example.com:8443"},
			"a host that is down":     {true, []string{"curl", "-sSk", "https://down.example.com:8444"}, "proxy unreachable down.example.com:8444"},
			"a host without address":  {true, []string{"curl", "-sSk", "https://none.example.com:8444"}, "proxy unresolved none.example.com:8444"},
			"a request that is none":  {true, []string{probeName, "say", "127.0.0.1:3128", "HELLO\r\n\r\n"}, "proxy bad_request :0"},
			"a request for the proxy": {true, []string{"curl", "-sSf", "--noproxy", "*", "http://127.0.0.1:3128/"}, "proxy bad_request :0"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t, []string{"down.example.com", "none.example.com"}, joinPort("example.com", o.secure), "example.com:8443",
					"down.example.com:8444", "none.example.com:8444")
				s.proxied, s.options.Lookup = row.proxied, lookupMixed
				r := s.run(t, row.argv...)
				if row.argv[1] != "say" {
					require.NotZero(t, r.code, "%s", r.stdout)
				}
				if row.argv[1] == "lookup" {
					require.Contains(t, r.stderr, "no such host", "it was answered, from the address that was asked")
				}
				require.NotContains(t, r.stdout, "GET")
				require.Contains(t, r.outcomes(), row.record)
				require.Zero(t, r.totals.Connections)
				require.Positive(t, r.totals.Refused)
			})
		}
	})
}

// lookupMixed gives one name a private address beside a public one, one this
// machine's, and one none.
func lookupMixed(_ context.Context, host string) ([]netip.Addr, error) {
	switch host {
	case "down.example.com":
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	case "none.example.com":
		return nil, nil
	}
	return []netip.Addr{netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("10.0.0.7")}, nil
}
