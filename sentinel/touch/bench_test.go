package touch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// BenchmarkOf is what one call costs.
func BenchmarkOf(b *testing.B) {
	for name, args := range map[string]map[string]any{
		"path":  {"path": "docs/notes.md"},
		"email": {"to": "bob@example.com", "note": "Minutes of Tuesday", "body": strings.Repeat("text ", 200)},
		"shell": {"command": "cd src && go test ./... 2>&1 | tail -n 20 > out.txt"},
	} {
		b.Run(name, func(b *testing.B) {
			s := skill(b, skills.Modify)
			b.ReportAllocs()
			for b.Loop() {
				touch.Of(s, args, env())
			}
		})
	}
}

// BenchmarkLarge grows the arguments: the cost of a byte must stay the same.
func BenchmarkLarge(b *testing.B) {
	s := skill(b, skills.Irreversible)
	for _, kb := range []int{1, 10, 100} {
		fill := func(unit string) string { return strings.Repeat(unit, kb<<10/len(unit)) }
		for name, args := range map[string]map[string]any{
			"script":  {"command": fill("cat src/a.txt | grep -v x > out.txt\n")},
			"words":   {"command": "rm " + fill("build/a.o ")},
			"quotes":  {"command": "echo " + fill(`"$HOME/x" 'y' \z `)},
			"path":    {"path": fill("a/../%2e%2e/b/")},
			"mention": {"note": "/" + fill("a@b.example /x ")},
			"prose":   {"note": fill("some words and a@b.example ")},
			"stages":  {"command": fill("cat src/a.txt | grep -v x | sort | uniq -c | head -n 5 > out.txt\n")},
			"scopes":  {"command": fill("x=1; (y=$x; echo $y | tr a b)\n")},
			"pipes":   {"command": "f() { " + fill("a|") + "f; }"},
			"heredoc": {"command": "cat <<'E' > x\n" + fill("rm -rf / and (more)\n") + "E\n"},
		} {
			b.Run(fmt.Sprintf("%s/%dKB", name, kb), func(b *testing.B) {
				b.SetBytes(int64(kb << 10))
				for b.Loop() {
					touch.Of(s, args, env())
				}
			})
		}
	}
}
