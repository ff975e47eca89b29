package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch/host"
)

// An argument's hosts are those of the address that it is, and those that it
// hides.
func TestListNamed(t *testing.T) {
	metadata, open := host.Host{Name: "169.254.169.254", Zone: host.Metadata}, host.Host{Name: "a.example", Zone: host.Open}
	for _, tc := range []struct {
		text         string
		url          bool
		whole, inner []host.Host
	}{
		{"https://a.example/x", true, []host.Host{open}, nil},
		{"a.example/x", true, []host.Host{open}, nil},
		{"a.example/x", false, nil, nil},
		{"169.254.169.254", false, []host.Host{metadata}, nil},
		{"https://a.example/?u=http://169.254.169.254/", true, []host.Host{open}, []host.Host{metadata}},
		{"https://a.example/?u=http%3A%2F%2F169.254.169.254/", true, []host.Host{open}, []host.Host{metadata}},
		{"see http://169.254.169.254/.", false, nil, []host.Host{metadata}},
		{"http://wiki/", true, []host.Host{{Name: "wiki", Zone: host.Open}, {Name: "wiki", Zone: host.Private}}, nil},
	} {
		whole, inner := host.ListNamed(tc.text, tc.url)
		require.Equal(t, tc.whole, whole, tc.text)
		for _, h := range tc.inner {
			require.Contains(t, inner, h, tc.text)
		}
	}
}

// Addresses of mail are found in prose, at most 256 of them.
func TestListMailboxes(t *testing.T) {
	require.Equal(t, []string{"ann@a.example", "bob@b.example"}, host.ListMailboxes("from ann@a.example, <bob@b.example>. @x a@b"))
	require.Empty(t, host.ListMailboxes("https://ann@a.example/"))
	require.Equal(t, []string{"x@evil.test"}, host.ListRoutes("x%evil.test@example.com")[:1])
}
