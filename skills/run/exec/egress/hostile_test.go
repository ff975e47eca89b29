package egress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

func parsePolicy(t testing.TB, list ...string) *Policy {
	t.Helper()
	p, err := Parse("at", list, nil)
	require.NoError(t, err)
	return p
}

func packQuery(t testing.TB, name string, kind dnsmessage.Type, class dnsmessage.Class) []byte {
	t.Helper()
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: class}}}
	b, err := m.Pack()
	require.NoError(t, err)
	return b
}

func TestAnswers(t *testing.T) {
	z := zone{parsePolicy(t, "pypi.org:443", "*.example.com:443"), newNames()}
	in := dnsmessage.ClassINET
	for _, row := range []struct {
		name    string
		kind    dnsmessage.Type
		class   dnsmessage.Class
		code    dnsmessage.RCode
		answer  string
		outcome Outcome
	}{
		{"pypi.org.", dnsmessage.TypeA, in, 0, "198.18.0.1", ""},
		{"PyPi.Org.", dnsmessage.TypeALL, in, 0, "198.18.0.1", ""},
		{"a.example.com.", dnsmessage.TypeA, in, 0, "198.18.0.2", ""},
		{"pypi.org.", dnsmessage.TypeAAAA, in, 0, "", ""},
		{"pypi.org.", dnsmessage.TypeTXT, in, 0, "", ""},
		{"pypi.org.", dnsmessage.Type(65), in, 0, "", ""},
		{"example.com.", dnsmessage.TypeA, in, dnsmessage.RCodeNameError, "", HostNotListed},
		{"secret.evil.test.", dnsmessage.TypeTXT, in, dnsmessage.RCodeNameError, "", HostNotListed},
		{"metadata.google.internal.", dnsmessage.TypeA, in, dnsmessage.RCodeNameError, "", Metadata},
		{"1.0.18.198.in-addr.arpa.", dnsmessage.TypePTR, in, dnsmessage.RCodeNameError, "", HostNotListed},
		{".", dnsmessage.TypeNS, in, dnsmessage.RCodeNameError, "", HostNotListed},
		{"pypi.org.", dnsmessage.TypeA, dnsmessage.ClassCHAOS, dnsmessage.RCodeFormatError, "", BadRequest},
	} {
		raw, refused := z.answerQuery(packQuery(t, row.name, row.kind, row.class))
		require.Equal(t, row.outcome, refused.Outcome, row.name)
		var m dnsmessage.Message
		require.NoError(t, m.Unpack(raw))
		require.Equal(t, uint16(7), m.ID)
		require.True(t, m.Response)
		require.Equal(t, row.code, m.RCode, "%s %s", row.name, row.kind)
		if row.answer == "" {
			require.Empty(t, m.Answers)
			continue
		}
		require.Equal(t, row.name, m.Questions[0].Name.String())
		require.Equal(t, netip.MustParseAddr(row.answer).As4(), m.Answers[0].Body.(*dnsmessage.AResource).A)
	}
	for name, raw := range map[string][]byte{"nothing": nil, "cut": {0, 7, 1}, "an answer": {0, 7, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0}} {
		reply, refused := z.answerQuery(raw)
		require.Nil(t, reply, name)
		require.Equal(t, BadRequest, refused.Outcome, name)
	}
}

// A program makes up names below a wildcard; there is an end to them.
func TestNamesEnd(t *testing.T) {
	n := newNames()
	for i := range maxNames {
		_, ok := n.addressOf(strings.Repeat("a", i%60+1) + "." + strings.Repeat("b", i/60+1) + ".example.com")
		require.True(t, ok)
	}
	_, ok := n.addressOf("one.more.example.com")
	require.False(t, ok)
	a, ok := n.addressOf("a.b.example.com")
	require.True(t, ok)
	require.Equal(t, firstName, a)
	name, ok := n.nameOf(a)
	require.True(t, ok)
	require.Equal(t, "a.b.example.com", name)
	z := zone{parsePolicy(t, "*.example.com:443"), n}
	_, refused := z.answerQuery(packQuery(t, "two.more.example.com.", dnsmessage.TypeA, dnsmessage.ClassINET))
	require.Equal(t, Full, refused.Outcome)
}

// Whatever a program sends as DNS, the answer is well formed, is to its question, and
// has an address for listed names alone.
func FuzzDNS(f *testing.F) {
	f.Add(packQuery(f, "pypi.org.", dnsmessage.TypeA, dnsmessage.ClassINET))
	f.Add(packQuery(f, "a.b.example.com.", dnsmessage.TypeAAAA, dnsmessage.ClassINET))
	f.Add(packQuery(f, "evil.test.", dnsmessage.TypeTXT, dnsmessage.ClassINET))
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01"))
	f.Add([]byte("\x00\x07\x01\x00\xff\xff\x00\x00\x00\x00\x00\x00\x04pypi\x03org\x00\x00\x01\x00\x01"))
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x08pypi.org\x00\x00\x01\x00\x01"))
	p := parsePolicy(f, "pypi.org:443", "*.example.com:443")
	f.Fuzz(func(t *testing.T, msg []byte) {
		z := zone{p, newNames()}
		reply, refused := z.answerQuery(msg)
		if reply == nil {
			require.NotEmpty(t, refused.Outcome)
			return
		}
		require.LessOrEqual(t, len(reply), 600)
		var m dnsmessage.Message
		require.NoError(t, m.Unpack(reply))
		require.True(t, m.Response)
		require.Equal(t, []byte{byte(m.ID >> 8), byte(m.ID)}, msg[:2])
		require.LessOrEqual(t, len(m.Answers), 1)
		if len(m.Answers) == 1 {
			name := trimHostName(m.Questions[0].Name.String())
			require.True(t, name == "pypi.org" || strings.HasSuffix(name, ".example.com"), "%q", name)
			require.Empty(t, refused.Outcome)
		}
		if m.RCode != dnsmessage.RCodeSuccess {
			require.NotEmpty(t, refused.Outcome)
		}
	})
}

func TestRequests(t *testing.T) {
	for raw, want := range map[string]string{
		"CONNECT pypi.org:443 HTTP/1.1\r\nHost: pypi.org:443\r\n\r\n":                     "pypi.org",
		"CONNECT pypi.org:443 HTTP/1.0\r\n\r\n":                                           "pypi.org",
		"CONNECT [2606:4700::1]:443 HTTP/1.1\r\nHost: x\r\n\r\n":                          "2606:4700::1",
		"CONNECT pypi.org:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n":                   "pypi.org",
		"GET http://pypi.org:443/a HTTP/1.1\r\nHost: other.test\r\n\r\n":                  "pypi.org",
		"GET http://u:p@pypi.org:443/a HTTP/1.1\r\nHost: pypi.org\r\n\r\n":                "pypi.org",
		"CONNECT pypi.org HTTP/1.1\r\nHost: pypi.org\r\n\r\n":                             "",
		"CONNECT pypi.org:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc":        "",
		"CONNECT /path HTTP/1.1\r\nHost: x\r\n\r\n":                                       "",
		"GET / HTTP/1.1\r\nHost: pypi.org:443\r\n\r\n":                                    "",
		"GET https://pypi.org:443/ HTTP/1.1\r\nHost: x\r\n\r\n":                           "",
		"GET ftp://pypi.org:443/ HTTP/1.1\r\nHost: x\r\n\r\n":                             "",
		"GET http:///a HTTP/1.1\r\nHost: x\r\n\r\n":                                       "",
		"GET http://pypi.org:443/ HTTP/1.0\r\n\r\n":                                       "",
		"GET http://pypi.org:0/ HTTP/1.1\r\nHost: x\r\n\r\n":                              "",
		"GET http://pypi.org:443/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":                 "",
		"GET http://pypi.org:443/ HTTP/1.1\r\nTransfer-Encoding: gzip\r\nHost: x\r\n\r\n": "",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                                "",
		"\x05\x01\x00":                                                                    "",
		"GET http://pypi.org:443/" + strings.Repeat("a", maxHead) + " HTTP/1.1\r\n\r\n":   "",
	} {
		h, err := readRequestHead(strings.NewReader(raw))
		host := ""
		if err == nil {
			var port uint16
			host, port, err = h.readHostPort()
			if err == nil {
				require.Equal(t, uint16(443), port)
			}
		}
		require.Equal(t, want, host, "%.80q", raw)
		require.Equal(t, want == "", errors.Is(err, errBadRequest), "%.80q", raw)
	}
}

// What reaches a host names that host, and holds nothing that was said to the proxy.
func TestForwarded(t *testing.T) {
	raw := "POST http://u:p@pypi.org/a?b=c HTTP/1.1\r\nHost: other.test\r\nProxy-Authorization: Basic x\r\nConnection: " +
		"keep-alive, X-Hop\r\nX-Hop: 1\r\n" +
		"Upgrade: websocket\r\nTe: trailers\r\nX-Keep: 2\r\nContent-Length: 3\r\n\r\nabcGET http://other.test/ HTTP/1.1\r\n\r\n"
	h, err := readRequestHead(strings.NewReader(raw))
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, h.makeForwardable().Write(&out))
	require.Equal(t, "POST /a?b=c HTTP/1.1\r\nHost: pypi.org\r\nConnection: close\r\nContent-Length: 3\r\nX-Keep: 2\r\n\r\nabc", out.String())
}

// Whatever a program sends to the proxy, what is forwarded is one request that names
// the host that was checked.
func FuzzProxy(f *testing.F) {
	f.Add([]byte("CONNECT pypi.org:443 HTTP/1.1\r\nHost: pypi.org:443\r\n\r\n"))
	f.Add([]byte("GET http://pypi.org/a HTTP/1.1\r\nHost: other.test\r\nConnection: x\r\nX: 1\r\n\r\n"))
	f.Add([]byte("POST http://pypi.org/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: " +
		"X\r\n\r\n3\r\nabc\r\n0\r\nX: 1\r\n\r\nGET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("POST http://pypi.org/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc"))
	f.Add([]byte("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"))
	p := parsePolicy(f, "pypi.org:80", "*.example.com:80")
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := readRequestHead(bytes.NewReader(raw))
		if err != nil {
			return
		}
		host, port, err := h.readHostPort()
		if err != nil {
			return
		}
		to, o := p.findTarget(host, port)
		if o != Connected || h.wantsTunnel() {
			return
		}
		require.Equal(t, uint16(80), port)
		h.continueFrom(eof{})
		var out bytes.Buffer
		if h.makeForwardable().Write(&out) != nil {
			return
		}
		again := bufio.NewReader(&out)
		r, err := http.ReadRequest(again)
		require.NoError(t, err, "%q", raw)
		name, _, _ := strings.Cut(trimHostName(r.Host), ":")
		require.Equal(t, to.name, strings.TrimSuffix(name, "."))
		require.False(t, r.URL.IsAbs(), "%q", r.RequestURI)
		_, err = io.Copy(io.Discard, r.Body)
		require.NoError(t, err)
		for _, name := range hopHeaders[1:] {
			require.Empty(t, r.Header.Values(name))
		}
		_, err = again.Peek(1)
		require.ErrorIs(t, err, io.EOF, "a second request was forwarded")
	})
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

func TestHeaders(t *testing.T) {
	v4 := func(proto byte, dst [4]byte, rest ...byte) []byte {
		return append([]byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, proto, 0, 0, 1, 2, 3, 4, dst[0], dst[1], dst[2], dst[3]}, rest...)
	}
	v6 := append(append([]byte{0x60, 0, 0, 0, 0, 8, protoUDP, 64}, make([]byte, 16)...), netip.MustParseAddr("2606:4700::1111").AsSlice()...)
	for name, row := range map[string]struct {
		raw  []byte
		want Connection
		ok   bool
	}{
		"TCP": {v4(protoTCP, [4]byte{8, 8, 8, 8}, 1, 2, 5, 163), Connection{Via: ViaTCP, Host: "8.8.8.8", Port: 1443,
			Outcome: PortNotListed}, true},
		"metadata": {v4(protoTCP, [4]byte{169, 254, 169, 254}, 1, 2, 0, 80), Connection{Via: ViaTCP, Host: "169.254.169.254",
			Port: 80, Outcome: Metadata}, true},
		"an echo":      {v4(protoICMP, [4]byte{8, 8, 8, 8}, 8, 0), Connection{Via: ViaICMP, Host: "8.8.8.8", Outcome: Protocol}, true},
		"SCTP":         {v4(132, [4]byte{8, 8, 8, 8}, 1, 2, 3, 4), Connection{Via: ViaUnknown, Host: "8.8.8.8", Outcome: Protocol}, true},
		"IPv6":         {append(v6, 1, 2, 1, 187), Connection{Via: ViaUDP, Host: "2606:4700::1111", Port: 443, Outcome: Protocol}, true},
		"cut ports":    {v4(protoTCP, [4]byte{8, 8, 8, 8}, 1), Connection{Via: ViaTCP, Host: "8.8.8.8", Outcome: PortNotListed}, true},
		"cut":          {v4(protoTCP, [4]byte{8, 8, 8, 8})[:19], Connection{}, false},
		"cut IPv6":     {v6[:39], Connection{}, false},
		"long options": {append([]byte{0x4f}, v4(protoTCP, [4]byte{})[1:]...), Connection{}, false},
		"no protocol":  {make([]byte, 40), Connection{}, false},
	} {
		c, ok := readHeaders(row.raw)
		require.Equal(t, row.ok, ok, name)
		require.Equal(t, row.want, c, name)
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add(append([]byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0, 1, 2, 3, 4, 8, 8, 8, 8}, 1, 2, 3, 4))
	f.Add(make([]byte, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, ok := readHeaders(b)
		require.Equal(t, ok, c.Outcome != "")
		if ok {
			_, err := netip.ParseAddr(c.Host)
			require.NoError(t, err)
		}
	})
}
