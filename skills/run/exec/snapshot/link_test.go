package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Links may lead to what is in their root, by a text that no other link can bend.
func TestStaysInside(t *testing.T) {
	allowed := []string{"/usr", "/opt/tools/"}
	for _, row := range []struct {
		rel, target string
		want        bool
	}{
		{"l", "f", true}, {"l", "./f", true}, {"l", "d/f", true}, {"d/l", "../f", true}, {"a/b/l", "../../f", true}, {"a/b/l", "..", true},
		{"l", ".", true}, {"d/l", "../", true}, {"d/l", "..//f", true},
		{"l", "", false}, {"l", "..", false}, {"l", "../f", false}, {"d/l", "../../f", false}, {"d/l", "..//../f", false},
		{"a/b/l", "x/../f", false}, {"a/b/l", "x/..", false}, {"a/b/l", "./../f", false}, {"a/b/l", "../x/../../../y", false},
		{"l", "/root/f", true}, {"l", "/root", true}, {"l", "/root/", true}, {"l", "/root/../etc", false}, {"l", "/rootless/f", false},
		{"l", "/", false}, {"l", "/etc/passwd", false}, {"l", "//root/f", true}, {"l", "/root/./f", true},
		{"l", "/usr/bin/env", true}, {"l", "/usr", true}, {"l", "/usrlocal", false}, {"l", "/usr/../etc", false}, {"l", "/opt/tools/x", true},
		{"l", "/opt/tools", false},
	} {
		require.Equal(t, row.want, staysInside("/root", row.rel, row.target, allowed), "%s -> %s", row.rel, row.target)
	}
}
