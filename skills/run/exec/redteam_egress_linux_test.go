package exec

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills/internal/runtest"
	"github.com/vedette-dev/vedette/skills/run/exec/egress"
)

// proxyRow is one request of the proxy, in which P is the server's port, and the
// status that it must get.
type proxyRow struct{ name, head, want string }

// proxyRows are what a stranger asked of the proxy.
var proxyRows = []proxyRow{
	{"a plain request", "GET http://good.example:P/ HTTP/1.1\r\nHost: other.example\r\n\r\n", "200"},
	{"another host", "CONNECT other.example:P HTTP/1.1\r\n\r\n", "403"}, {"another port", "CONNECT good.example:1 HTTP/1.1\r\n\r\n", "403"},
	{"an address", "CONNECT 127.0.0.1:P HTTP/1.1\r\n\r\n", "403"}, {"a decimal address", "CONNECT 2130706433:P HTTP/1.1\r\n\r\n", "403"},
	{"an octal address", "CONNECT 0177.0.0.1:P HTTP/1.1\r\n\r\n", "403"}, {"a hex address", "CONNECT 0x7f000001:P HTTP/1.1\r\n\r\n", "403"},
	{"a short address", "CONNECT 127.1:P HTTP/1.1\r\n\r\n", "403"}, {"zero", "CONNECT 0.0.0.0:P HTTP/1.1\r\n\r\n", "403"},
	{"a mapped address", "CONNECT [::ffff:127.0.0.1]:P HTTP/1.1\r\n\r\n", "403"}, {"IPv6 loopback", "CONNECT [::1]:P HTTP/1.1\r\n\r\n", "403"},
	{"an address with a zone", "CONNECT [fe80::1%%lo]:P HTTP/1.1\r\n\r\n", "40"}, {"metadata",
		"CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n", "403"},
	{"metadata by name", "GET http://metadata.google.internal/ HTTP/1.1\r\nHost: good.example:P\r\n\r\n", "403"},
	{"Host against authority", "GET http://other.example:P/ HTTP/1.1\r\nHost: good.example:P\r\n\r\n", "403"},
	{"a user as the host", "GET http://good.example:P@127.0.0.1:P/ HTTP/1.1\r\nHost: x\r\n\r\n", "403"},
	{"a name that ends like one listed", "CONNECT evilgood.example:P HTTP/1.1\r\n\r\n", "403"},
	{"a NUL in a name", "CONNECT good.example\\000.x:P HTTP/1.1\r\n\r\n", "40"}, {"a star as a name",
		"CONNECT *.wild.example:P HTTP/1.1\r\n\r\n", "403"},
	{"the wildcard's own domain", "CONNECT wild.example:P HTTP/1.1\r\n\r\n", "403"}, {"CONNECT with a body",
		"CONNECT good.example:P HTTP/1.1\r\nContent-Length: 9\r\n\r\n", "400"},
	{"two lengths", "POST http://good.example:P/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400"},
	{"a relative request", "GET / HTTP/1.1\r\nHost: good.example:P\r\n\r\n", "400"}, {"another scheme",
		"GET ftp://good.example:P/ HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
	{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"}, {"a huge port", "CONNECT good.example:65537 HTTP/1.1\r\n\r\n", "400"},
	{"rebinding at first", "CONNECT rebind.example:P HTTP/1.1\r\n\r\n", "502"}, {"rebinding then",
		"CONNECT rebind.example:P HTTP/1.1\r\n\r\n", "502"},
	{"a name of a mapped address", "CONNECT mapped.example:P HTTP/1.1\r\n\r\n", "502"}, {"a name of 0.0.0.0",
		"CONNECT zero.example:P HTTP/1.1\r\n\r\n", "502"},
	{"a name of the metadata service", "CONNECT meta.example:P HTTP/1.1\r\n\r\n", "502"}, {"a name of a translated address",
		"CONNECT nat.example:P HTTP/1.1\r\n\r\n", "502"},
}

// resolveRed answers for the names of a list: those of this machine, and those whose
// servers point at what no list may reach. What was a stranger's at first is private
// from then on.
func resolveRed(asked *atomic.Int64) func(context.Context, string) ([]netip.Addr, error) {
	loop := netip.MustParseAddr("127.0.0.1")
	fixed := map[string]netip.Addr{"good.example": loop, "a.wild.example": loop, "mapped.example": netip.MustParseAddr("::ffff:127.0.0.1"),
		"zero.example": netip.MustParseAddr("0.0.0.0"), "meta.example": netip.MustParseAddr("169.254.169.254"),
		"nat.example": netip.MustParseAddr("64:ff9b::7f00:1")}
	return func(_ context.Context, name string) ([]netip.Addr, error) {
		if name == "rebind.example" && asked.Add(1) == 1 {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1"), loop}, nil
		}
		if name == "rebind.example" {
			return []netip.Addr{loop}, nil
		}
		if a, found := fixed[name]; found {
			return []netip.Addr{a}, nil
		}
		return nil, nil
	}
}

// redScript asks the proxy each of proxyRows and prints the status, then tries to
// connect past it.
func redScript(port string) string {
	script := []string{`ask() { exec 3<>/dev/tcp/127.0.0.1/3128; printf "$1" >&3; read -r -t 5 _ code _ <&3; echo "$code"; exec 3>&-; }`}
	for _, r := range proxyRows {
		script = append(script, "ask '"+strings.ReplaceAll(r.head, ":P", ":"+port)+"'")
	}
	return strings.Join(script, "\n") + `
(exec 4<>/dev/tcp/10.0.0.1/` + port + `; read -r -t 3 x <&4) 2> /dev/null && echo reached
for a in 127.0.0.1 0.0.0.0 169.254.169.254 198.18.200.1; do 
(exec 4<>/dev/tcp/$a/` + port + `; printf 'GET / HTTP/1.0\r\n\r\n' >&4; read -r -t 3 x <&4 && echo reached) 2> /dev/null; done; echo end`
}

// What a stranger tried with a list of hosts. A server of this machine counts what
// arrives: only the plain request, which proves that the way is open, may.
func TestRedTeamEgress(t *testing.T) {
	var arrived, asked atomic.Int64
	var hosts atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		hosts.Store(r.Host)
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	list := []string{}
	for _, h := range []string{"good.example", "*.wild.example", "rebind.example", "mapped.example", "zero.example",
		"meta.example", "nat.example"} {
		list = append(list, h+":"+port)
	}
	sp := spec(opts{"isolation": IsolationFull, "egress": list, "env": []string{"PATH"}, "argv": []string{"bash", "-c", redScript(port)}})
	kit, s := runtest.New(t), runtest.Compile(t, sp, nil)
	e, err := New(s, kit.Redeemer, Options{Dir: t.TempDir(), AllowHosts: []string{"good.example"}, Lookup: resolveRed(&asked)})
	require.NoError(t, err)
	res, err := kit.Run(t, e, s, opts{"a": ""})
	require.NoError(t, err)
	said := strings.Split(strings.TrimSpace(res.Content), "\n")
	require.Len(t, said, len(proxyRows)+1, res.Content)
	for i, r := range proxyRows {
		require.True(t, strings.HasPrefix(said[i], r.want), "%s: want %s, got %q", r.name, r.want, said[i])
	}
	require.Equal(t, "end", said[len(proxyRows)])
	require.Equal(t, int64(1), arrived.Load(), "the marker")
	require.Equal(t, "good.example:"+port, hosts.Load())
	var records []egress.Connection
	require.NoError(t, json.Unmarshal(res.Egress.Details, &records))
	require.Equal(t, int64(1), res.Egress.Connections)
	require.GreaterOrEqual(t, int(res.Egress.Refused), len(proxyRows)-1, "each refusal is on record")
}
