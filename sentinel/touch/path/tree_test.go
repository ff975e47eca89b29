package path_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// A tree is one by its name, by a pattern of it, and by all that is in it.
func TestFindTree(t *testing.T) {
	type found struct {
		tree    path.Tree
		entries bool
	}
	for p, want := range map[string]found{
		"/": {path.RootTree, false}, "/*": {path.RootTree, true}, "/.[!.]*": {path.RootTree, true}, "C:/": {path.RootTree, false},
		"/mnt/c": {path.RootTree, false}, "/c/": {path.RootTree, false},
		"/etc": {path.SystemTree, false}, "/etc/*": {path.SystemTree, true}, "/et?": {path.SystemTree, false},
		"/mnt/c/Windows": {path.SystemTree, false}, "/cygdrive/c/windows/system32": {path.SystemTree, false},
		"/home/alice": {path.HomeTree, false}, "/home/bob/*": {path.HomeTree, true}, "/root": {path.HomeTree, false},
		"/home": {path.HomeTree, false}, "/*/x*": {path.NoTree, false},
		"/etc/hosts": {path.NoTree, false}, "/workspace": {path.NoTree, false}, "/home/alice/x": {path.NoTree, false},
		"/mnt/data": {path.NoTree, false}, "/e": {path.NoTree, false}, "/tmp/*": {path.NoTree, true},
	} {
		tree, entries := path.FindTree(p, env())
		require.Equal(t, want.tree, tree, p)
		if tree != path.NoTree {
			require.Equal(t, want.entries, entries, p)
		}
	}
}

// Devices that hold data are told from those that lose nothing.
func TestIsDevice(t *testing.T) {
	for _, p := range []string{"/dev/sda", "/dev/nvme0n1p1", "/dev/mapper/x", "/dev/s*", "/d?v/sda", "/dev/mem", `\\.\PhysicalDrive0`} {
		require.True(t, path.IsDevice(p), p)
	}
	for _, p := range []string{"/dev/null", "/dev/tty1", "/dev/shm/x", "/dev/tcp/a/80", "/dev", "/device/sda", "sda", ""} {
		require.False(t, path.IsDevice(p), p)
	}
}

// A word that a receiver may take apart has the paths inside it.
func TestFindGlued(t *testing.T) {
	for text, want := range map[string][]string{
		"file=/srv/x": {"/srv/x"}, `"/srv/x"`: {"/srv/x"}, "-f/srv/x": {"/srv/x"}, "@~/x?a=1": {"~/x"}, "a:/b,/c": {"/b", "/c"},
		"/srv/x": nil, "a/b": nil, "https://a.example/b": nil, "see /srv/x": nil, "": nil,
	} {
		require.Equal(t, want, path.FindGlued(text), text)
	}
}

// Prose has blanks and begins like no path.
func TestIsProse(t *testing.T) {
	for text, want := range map[string]bool{"see you": true, "/srv/x y": false, "word": false, "C: drive": false, "%2fsrv x": false,
		"%20 a b": true, "%00 x": true, "%00": false, "": false} {
		require.Equal(t, want, path.IsProse(text), text)
	}
}
