package egress

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
	"github.com/vedette-dev/vedette/skills/run/exec/egress/listen"
)

func TestParseAccepts(t *testing.T) {
	p, err := Parse("run.exec.egress", []string{"pypi.org:443", "*.Example.COM:8443", "pypi.org:80", "[2606:4700::1]:443",
		"8.8.8.8:443", "db:5432",
		"10.0.0.7:5432", "xn--bcher-kva.example:443", "_srv.example.org:3128"}, []string{"10.0.0.7"})
	require.NoError(t, err)
	require.Equal(t, listen.Plan{Proxy: 3129, Ports: []uint16{80, 443, 3128, 5432, 8443}}, p.Plan())
	require.Contains(t, p.Environ(), "HTTPS_PROXY=http://127.0.0.1:3129")
	require.Equal(t, "nameserver 127.0.0.1\n", p.Resolver())
}

// A mistake stands at its own place in the list, and no value but the list's own is
// in its words.
func TestParseRefuses(t *testing.T) {
	for entry, want := range map[string]string{
		"":                                    "must be a host and a port",
		"pypi.org":                            "must be a host and a port",
		":443":                                "must be a host and a port",
		"2606:4700::1:443":                    "must be a host and a port",
		"https://pypi.org:443":                "must be a host and a port",
		"pypi.org:":                           "a number from 1 to 65535",
		"pypi.org:0":                          "a number from 1 to 65535",
		"pypi.org:65536":                      "a number from 1 to 65535",
		"pypi.org:0443":                       "a number from 1 to 65535",
		"pypi.org:+443":                       "a number from 1 to 65535",
		"pypi.org:*":                          "a number from 1 to 65535",
		"pypi.org:https":                      "a number from 1 to 65535",
		"pypi.org:53":                         "resolver",
		"*:443":                               "one star",
		"*.*.example.com:443":                 "one star",
		"api.*.com:443":                       "one star",
		"*pypi.org:443":                       "one star",
		"*.com:443":                           "top-level",
		"*.10.0.0.7:443":                      "a number",
		"pypi.org.:443":                       "no host's name",
		"pypi..org:443":                       "no host's name",
		"-pypi.org:443":                       "no host's name",
		"pypi org:443":                        "no host's name",
		"user@pypi.org:443":                   "no host's name",
		"bücher.example:443":                  "no host's name",
		strings.Repeat("a", 64) + ".org:443":  "no host's name",
		strings.Repeat("a.", 127) + "org:443": "no host's name",
		"2130706433:443":                      "a number",
		"127.1:443":                           "a number",
		"0x7f.0x1:443":                        "a number",
		"localhost:8080":                      "localhost",
		"x.localhost:8080":                    "localhost",
		"metadata.google.internal:80":         "never allowed",
		"169.254.169.254:80":                  "never allowed",
		"[fd00:ec2::254]:80":                  "never allowed",
		"[::ffff:169.254.169.254]:80":         "never allowed",
		"[::ffff:8.8.8.8]:443":                "plain",
		"[fe80::1%eth0]:443":                  "plain",
		"127.0.0.1:443":                       "guard.allow_hosts",
		"10.0.0.8:443":                        "guard.allow_hosts",
		"198.18.0.1:443":                      "guard.allow_hosts",
		"[::1]:443":                           "guard.allow_hosts",
		"0.0.0.0:443":                         "no host's",
		"224.0.0.1:443":                       "no host's",
		"example.net:443":                     "twice",
	} {
		p, err := Parse("run.exec.egress", []string{"example.net:443", entry}, []string{"10.0.0.7", "169.254.169.254",
			"metadata.google.internal", "0.0.0.0"})
		require.Nil(t, p, entry)
		require.Equal(t, []string{"run.exec.egress[1]"}, runtest.Paths(err), entry)
		require.ErrorContains(t, err, want, entry)
	}
	_, err := Parse("at", []string{"a b:1", "pypi.org:443", "c d:1"}, nil)
	require.Equal(t, []string{"at[0]", "at[2]"}, runtest.Paths(err))
}

func TestParseBounds(t *testing.T) {
	list := func(n int, format string) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf(format, 1000+i))
		}
		return out
	}
	_, err := Parse("at", list(MaxEntries, "h%d.example:443"), nil)
	require.NoError(t, err)
	_, err = Parse("at", list(MaxEntries+1, "h%d.example:443"), nil)
	var at *skills.PathError
	require.ErrorAs(t, err, &at)
	require.Equal(t, "at", at.Path)
	p, err := Parse("at", list(listen.MaxPorts, "h.example:%d"), nil)
	require.NoError(t, err)
	require.Len(t, p.Plan().Ports, listen.MaxPorts)
	_, err = Parse("at", list(listen.MaxPorts+1, "h.example:%d"), nil)
	require.ErrorContains(t, err, "different ports")
}

func TestJudge(t *testing.T) {
	p, err := Parse("at", []string{"pypi.org:443", "*.example.com:443", "*.google.internal:80", "8.8.8.8:443", "10.0.0.7:1"},
		[]string{"10.0.0.7", "db.example.com"})
	require.NoError(t, err)
	for host, want := range map[string]Outcome{
		"pypi.org": Connected, "PyPI.org.": Connected, "x.example.com": Connected, "a.b.example.com": Connected, "8.8.8.8": Connected,
		"::ffff:8.8.8.8": Connected,
		"example.com":    HostNotListed, "evilexample.com": HostNotListed, "example.com.evil.test": HostNotListed,
		"pypi.org.evil.test": HostNotListed,
		"a..example.com":     HostNotListed, "a/b.example.com": HostNotListed, "x\x00.example.com": HostNotListed,
		".example.com": HostNotListed, "": HostNotListed,
		"metadata.google.internal": Metadata, "169.254.169.254": Metadata, "64:ff9b::a9fe:a9fe": Metadata, "8.8.4.4": AddressNotListed,
		"10.0.0.7":     PortNotListed,
		"fe80::1%eth0": AddressNotListed, "other.google.internal": PortNotListed, "134744072": HostNotListed, "0x8.8.8.8": HostNotListed,
	} {
		_, o := p.findTarget(host, 443)
		require.Equal(t, want, o, "%q", host)
	}
	for _, row := range []struct {
		name, addr string
		want       bool
	}{
		{"pypi.org", "8.8.8.8", true}, {"pypi.org", "10.0.0.8", false}, {"pypi.org", "127.0.0.1", false}, {"pypi.org", "10.0.0.7", true},
		{"db.example.com", "10.0.0.8", true}, {"db.example.com", "169.254.169.254", false}, {"db.example.com", "::ffff:169.254.169.254", false},
		{"", "10.0.0.7", true}, {"", "10.0.0.8", false}, {"", "::ffff:10.0.0.7", true}, {"pypi.org", "fe80::1%eth0",
			false}, {"pypi.org", "2001:4860::1", true},
	} {
		require.Equal(t, row.want, p.mayReach(row.name, netip.MustParseAddr(row.addr)), "%s %s", row.name, row.addr)
	}
	require.Equal(t, HostNotListed, new(Policy).judgeName("pypi.org", 443))
}
