package touch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// BenchmarkCode grows inline code: the cost of a byte must stay the same.
func BenchmarkCode(b *testing.B) {
	s := skill(b, skills.Irreversible)
	for _, kb := range []int{1, 10, 50} {
		fill := func(unit string) string { return strings.Repeat(unit, kb<<10/len(unit)) }
		for name, line := range map[string]string{
			"python": "python3 <<'E'\n" + fill("def f(x):\n    y = os.path.join('a', x)  # a comment\n    return open(y).read() + 'text'\n") + "E\n",
			"runs":   "python3 <<'E'\nimport subprocess\n" + fill("subprocess.run(['git', 'add', f'{x}'])\n") + "E\n",
			"js":     "node <<'E'\n" + fill("const a = `${b}/c`; fs.readFileSync(path.join(__dirname, 'x.txt'), 'utf8');\n") + "E\n",
			"nested": "perl -e '" + fill("f(") + "'",
			"quotes": "ruby <<'E'\n" + fill(`"a" 'b' %w(c d) `) + "\nE\n",
			"sed":    "sed '" + fill("s/a/b/;") + "' x",
			"words":  "php -r '" + fill("$a.$b = c ") + "'",
		} {
			b.Run(fmt.Sprintf("%s/%dKB", name, kb), func(b *testing.B) {
				b.SetBytes(int64(kb << 10))
				for b.Loop() {
					touch.Of(s, map[string]any{"command": line}, env())
				}
			})
		}
	}
}
