package touch_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// Whatever a path holds, its cleaned form is absolute, free of dots that
// climb, and the same when cleaned again as it is.
func FuzzPath(f *testing.F) {
	for _, p := range []string{"a/../b", "~", "%252e%252e/x", "%c0%ae/\x00", `\\?\C:\x`, "file:///~", "/proc/self/root/proc/1/cwd/x", "....//",
		"%%32%65", "$HOME/..", "%uff0e", "//a.b/c", "0x2f..2f", "~a~/x", "\xff/\xc0\xae", "%0 ae/\x00", "% x"} {
		f.Add(p)
	}
	s := skill(f, skills.Read)
	f.Fuzz(func(t *testing.T, raw string) {
		for _, p := range touch.Of(s, map[string]any{"path": raw, "note": raw}, env()).Paths {
			abs := strings.HasPrefix(p.Clean, "/") || len(p.Clean) > 2 && p.Clean[1] == ':'
			require.True(t, abs, "%q from %q", p.Clean, raw)
			for part := range strings.SplitSeq(p.Clean, "/") {
				require.NotEqual(t, "..", part, "%q from %q", p.Clean, raw)
			}
			require.NotContains(t, p.Clean[1:], "//", "%q", raw)
			require.Equal(t, p.Clean, p.Real, "nothing is followed")
		}
		if raw != "" {
			require.NotEmpty(t, touch.Of(s, map[string]any{"path": raw}, env()).Paths, "a declared path is always there")
		}
	})
}

// Whatever a command line holds, reading it ends, gives the same twice, and
// what it reports is well formed.
func FuzzShell(f *testing.F) {
	for _, line := range []string{
		"rm -rf /", ":(){ :|:& };:", "a=(1 2); echo ${a[@]:0:1}", "cat <<E\n$(x)\nE", "x=$x$x; eval $x", "{1..3}{a,b}",
		"find / -exec sh -c '{}' \\;", "echo x | xargs -I{} bash -c {}",
		"f() { f \"$@\"; }; f a", "${!x#y}${x/a/b}${x^^}", "for((;;)); do :; done", "env -S 'a b' c", "[[ a =~ b ]] && ((1))", "sudo -u",
		"ssh -p", "echo -e '\\x2f' | sh", "`a`", "a <(b) >(c)", "case x in esac", "perl -e", "\xff", "$'\\x00'", "cd ~; cd -", "coproc a { b; }",
		"select x in a; do b; done", "printf '%*d' 999999999 1 | sh",
	} {
		f.Add(line)
	}
	s := skill(f, skills.Irreversible)
	f.Fuzz(func(t *testing.T, line string) {
		args := map[string]any{"command": line}
		got := touch.Of(s, args, env())
		require.Equal(t, got, touch.Of(s, args, env()))
		for _, p := range got.Paths {
			require.NotEmpty(t, p.Clean)
			require.True(t, p.Shell)
		}
		for _, d := range got.Dangers {
			require.Contains(t, touch.DangerCodes(), d.Code)
		}
		if strings.HasSuffix(line, `\`) {
			return // it would escape the line break that follows
		}
		if utf8.ValidString(line) && len(got.Unparsed) == 0 && len(got.Incomplete) == 0 {
			again := touch.Of(s, map[string]any{"command": "(" + line + "\n)"}, env())
			require.Equal(t, len(got.Dangers) > 0, len(got.Dangers) > 0 && (len(again.Dangers) > 0 || len(again.Unparsed)+len(again.Incomplete) > 0),
				"a subshell hides nothing: %q", line)
		}
	})
}
