package touch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// Whatever a program holds, in whichever language it is said to be, reading it
// ends, gives the same twice, and its pieces lie inside of it.
func FuzzProgram(f *testing.F) {
	for _, src := range []string{
		`open('/a/'+f"{b['c']}/d", "w")`, "`x ${y(`z`)}`", "%w(a b) %x{c} ?/", "qw<a b> s{a}{b}e tr/a/b/", "f(((((", "'''", `"\x{2f}\u{10ffff}\777\N{SOLIDUS}"`, "for a,b in walk('/'):", "a={|x|", `(f "a" #p"/")`, "x=x+x;x+=x", "'%s%%%c' % (1,)", "'{0}{}{x}'.format(a)",
		"d.decode('hex')", "map(f,[1,2])", "$ENV{HOME}", "a[::-1]", "lambda x: (yield", "def f(a, *b, **c): exec(a)", "/* //", "a ? b : c", "\"${", "\"#{\"#{\"#{1}\"}\"}\"", "foreach ($a as $b => $c)", "do |x, y|", "\xff\"\xfe'",
	} {
		f.Add(src)
	}
	names := make([]string, 0, len(dialects))
	for name := range dialects {
		names = append(names, name)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 4<<10 {
			return
		}
		for _, name := range append(names, "") {
			g := readProgram(src, dialects[name])
			again := readProgram(src, dialects[name])
			require.Equal(t, g.spans, again.spans)
			last := 0
			for _, k := range g.toks {
				require.True(t, k.at >= last && k.end > k.at && k.end <= len(src), name)
				last = k.end
			}
			for _, p := range g.spans {
				require.True(t, p.at >= 0 && p.end <= len(src) && p.at < p.end, name)
				require.LessOrEqual(t, len(p.text), max(maxFold, len(src)))
			}
		}
		for _, words := range powerCommands(src) {
			require.NotEmpty(t, words)
		}
		s := newShell(&collector{env: Env{NoFS: true}, links: path.NewLinks(Env{NoFS: true}), hosts: map[Host]bool{}}, "")
		s.quiet = true
		s.sedScript(src)
		s.exLines(src)
		s.sqlText(src)
		s.dotLines(src)
		s.tcl(src)
		s.batch(src)
	})
}

// A program that grows takes as many steps more as it has bytes more.
func TestProgramIsLinear(t *testing.T) {
	for _, unit := range []string{"f(", "a+", "'x'+", "x='a'+x;", "\"", "(a", "{", "f'{a}'", "a.b.c(", "for a in ", "/", "a/b;", "s/", "%w(", "$a.", "[", "#{"} {
		steps := func(n int) int {
			src := strings.Repeat(unit, n/len(unit))
			g := readProgram(src, dialects["ruby"])
			return len(g.toks) + len(g.spans) + len(g.calls) + g.steps
		}
		require.LessOrEqual(t, steps(16<<10), 40*steps(1<<10)+1000, unit)
	}
}
