package path_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

func env() path.Env { return path.Env{Root: "/workspace", Home: "/home/alice", NoFS: true} }

// A path is read as the laxest receiver would read it.
func TestClean(t *testing.T) {
	for raw, want := range map[string]string{
		"a/b": "/workspace/a/b", "./a//b/.": "/workspace/a/b", "../x": "/x", "/": "/", "": "/workspace", "/a/b/../../..": "/",
		"~": "/home/alice", "~/x": "/home/alice/x", "~bob/x": "/home/bob/x", "~root": "/root", "$HOME/x": "/home/alice/x",
		"${HOME}":    "/home/alice",
		"~$doc.docx": "/workspace/~$doc.docx", "file:///etc/x": "/etc/x", "file://localhost/x": "/x", "FILE:/x": "/x",
		"%2e%2e%2fx": "/x", "%252e%252e/x": "/x", "%c0%ae%c0%ae/x": "/x", "%e0%80%ae./x": "/x", "..%c1%9cx": "/x", "..%u2215x": "/x",
		"..0x2fx": "/x", "..2fx": "/x", `..\x`: "/x", "a%00.png": "/workspace/a", "a\x00b": "/workspace/a", "....//x": "/x", ".../x": "/x",
		"./...": "/workspace/...",
		"..;/x": "/x", "C:\\x\\..\\y": "C:/y", "c:/x": "C:/x", `\\?\C:\x`: "C:/x", `\\host.example\share\x`: "//host.example/share/x",
		"a. /b ": "/workspace/a/b", //nolint:gocritic // the spaces are what it is about
		"／ｅｔｃ":   "/etc", "100%": "/workspace/100%", "a%20b": "/workspace/a b", "/a/\u200bb": "/a/b", "..": "/",
	} {
		require.Equal(t, want, path.Clean(raw, env()), "%q", raw)
	}
	require.Equal(t, "/a", path.Clean("a", path.Env{}), "no root: the top")
	require.Equal(t, "/home/user/a", path.Clean("~/a", path.Env{}))
	require.Equal(t, "/workspace/%2e%2e/x", path.Lexical("%2e%2e/x", env()), "configuration is not decoded")
}

// A NUL ends a path for many programs, also beside letters that are folded.
func TestNULStaysBesideOtherLetters(t *testing.T) {
	for raw, want := range map[string]string{
		"a%00.png": "/workspace/a", "a%00é.png": "/workspace/a", "a\x00é.png": "/workspace/a",
		"/etc/shadow%00é": "/etc/shadow", "/etc/shadow%00%c3%a9": "/etc/shadow",
	} {
		require.Equal(t, want, path.Clean(raw, env()), "%q", raw)
	}
}
