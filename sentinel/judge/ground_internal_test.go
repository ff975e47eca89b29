package judge

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A host is a stranger's where untrusted output names it, or a host of the same owner.
func TestStrangersHost(t *testing.T) {
	v := &view{untrusted: []string{"see https://pages.evil.test/x and example.org."}}
	for address, want := range map[string]bool{
		"https://pages.evil.test/y?d=1":      true,  // the host itself
		"https://evil.test/":                 true,  // one above it
		"https://a.pages.evil.test/":         true,  // one below it
		"https://drop.evil.test/":            true,  // one beside it
		"user:pass@drop.evil.test/":          true,  // without a scheme, with a user
		"https://example.org/":               true,  // as a word
		"https://www.example.org/":           true,  // one below it
		"https://evil.test.example.com/":     false, // the name as a beginning
		"https://notevil.test/":              false, // the name as an end
		"https://example.net/?u=example.org": false, // in the query alone
		"localhost":                          false, // no domain
		"https://":                           false,
	} {
		require.Equal(t, want, v.isStrangersHost(address), address)
	}
}
