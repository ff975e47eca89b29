package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch/host"
)

// Punycode reads as people see it; what is none stays as it is.
func TestUnicodeHost(t *testing.T) {
	for in, want := range map[string]string{
		"xn--mnchen-3ya.de": "münchen.de", "https://XN--MNCHEN-3YA.de/x?y=1": "https://münchen.de/x?y=1",
		"a.xn--bcher-kva.example": "a.bücher.example",
		"xn--fsqu00a.xn--0zwm56d": "例子.测试", "xn--80ak6aa92e.com": "аррӏе.com", "example.com": "example.com", "xn--": "", "xn--a": "xn--a",
		"xn--99999999999": "xn--99999999999", "": "",
		"me@xn--mnchen-3ya.de": "me@münchen.de", "ünïxn--x": "ünïxn--x",
	} {
		require.Equal(t, want, host.UnicodeHost(in), in)
	}
}

// A name whose Punycode folds to a local one is held for that; its own spelling
// stays its name.
func TestPunycodeZones(t *testing.T) {
	for in, zone := range map[string]host.Zone{
		"xn--localhost-.": host.Loopback, "xn--mnchen-3ya.de": host.Open, "xn--mnchen-3ya.internal": host.Private,
	} {
		_, got := host.ParseHost(in)
		require.Equal(t, zone, got, in)
	}
	name, _ := host.ParseHost("xn--MNCHEN-3ya.de.")
	require.Equal(t, "xn--mnchen-3ya.de", name)
}

// Decoding never panics and keeps what has no Punycode.
func FuzzUnicodeHost(f *testing.F) {
	f.Add("xn--mnchen-3ya.de")
	f.Add("xn--0zwm56d")
	f.Add("xn---")
	f.Fuzz(func(t *testing.T, s string) { _ = host.UnicodeHost(s); host.ParseHost(s) })
}
