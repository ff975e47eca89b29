package assembly_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
)

// manyMistakes is a good configuration in which some lines stand twice, the
// second time, behind "#!", with a mistake.
var manyMistakes = map[string]string{
	"vedette.yaml": `version: 1
models:
  fast: {model: m, base_url: "http://127.0.0.1:1"}
  slow: {model: m, base_url: "http://127.0.0.1:1", timeout: 5s}
#!  slow: {model: m, base_url: "http://127.0.0.1:1", timeout: 5}
  third: {model: m, base_url: "http://127.0.0.1:1"}
#!  third: {model: m, base_url: "ftp://127.0.0.1:1"}
roles:
  sentinel: fast
#!  sentinal: fast
  orchestrator: slow
#!  orchestrator: slwo
  agent: third
skills: {include: ["skills/*.yaml"]}
permissions_default: allow
#!permissions_default: alow
permissions:
  - {skill: email.send, then: ask}
#!  - {skill: email.sned, then: ask}
  - {skill: "tasks.*", then: ask}
#!  - {skill: "taks.*", then: ask}
  - {skill: email.send, then: ask, when: "args.to == 'x'"}
#!  - {skill: email.send, then: ask, when: "args.too == 'x'"}
  - {skill: email.send, then: ask, when: "call.tainted"}
#!  - {skill: email.send, then: ask, when: "call.taintd"}
  - {skill: email.send, then: ask, when: "call.effect == 'read' || call.tainted"}
#!  - {skill: email.send, then: ask, when: "call.effect == 'reed' || args.tooo == 'x'"}
  - {skill: email.send, then: deny, when: "1 == 1"}
#!  - {skill: email.send, then: deny, when: "1 == 2"}
  - {skill: email.send, then: ask, users: ["a*"]}
#!  - {skill: email.send, then: ask, users: ["a**"]}
  - {skill: email.send, then: deny, users: ["b*"]}
#!  - {skill: email.send, then: deni, users: ["b*"]}
  - {skill: email.send, then: modify, modify: [{remove: body}]}
#!  - {skill: email.send, then: modify, modify: [{remove: bodi}]}
  - {skill: email.send, then: modify, modify: [{remove: body}], id: once}
#!  - {skill: email.send, then: modify, modify: [{clamp: body, min: 3, max: 1}], id: once}
  - {skill: http.get, then: ask, when: "args.id == 'x'"}
tests:
  - {name: t, call: {skill: email.send}, expect: deny}
#!  - {name: t, call: {skill: email.send}, expect: dny}
guard:
  roots: ["./work"]
#!  roots: ["."]
  forbid_paths: ["**/*.pem"]
#!  forbid_paths: ["[a"]
  allow_hosts: [localhost]
#!  allow_hosts: ["a b"]
judge: {threshold: 0.30}
#!judge: {threshold: 30}
sentinel:
  mode: enforce
#!  mode: enforced
  cache_ttl: 5m
#!  cache_tll: 5m
  unjudgeable: {read: ask}
#!  unjudgeable: {read: aks}
limits:
  agent: {calls: 5}
#!  agent: {calls: 0}
  turn: {calls: 5}
#!  turn: {calls: 5, calls: 6}
server: {listen: "127.0.0.1:8420"}
#!server: {listen: "8420"}
approvals: {timeout: "${NO_SUCH:-5m}"}
#!approvals: {timeout: "${NO_SUCH}"}
`,
	"skills/email.yaml": `name: email.send
effect: irreversible
parameters: {type: object, required: [to], properties: {to: {type: string}, body: {type: string, x-content: true}}}
idempotent: true
#!idempotnt: true
run: {template: sent}
`,
	"skills/http.yaml": `name: http.get
effect: read
#!effect: raed
parameters: {type: object, required: [id], properties: {id: {type: string}, n: {type: integer}}}
#!parameters: {type: object, required: [id], properties: {id: {type: string}, n: {typ: integer}}}
run: {http: {url: "https://example.com/{id}", method: GET}}
#!run: {http: {url: "https://example.com/{id}", metod: GET}}
`,
	"skills/tasks.yaml": `skills:
  - name: tasks.list
    effect: read
    run: {exec: {argv: ["/bin/true"], isolation: none}}
#!    run: {exec: {argv: [], isolation: none}}
  - name: tasks.files
    effect: read
    parameters: {$schema: "http://json-schema.org/draft-07/schema#", type: object, properties: {l: {items: [{type: string}]}}}
#!    parameters: {$schema: "http://json-schema.org/draft-17/schema#", type: object, properties: {l: {items: [{type: string}]}}}
    run: {template: x}
  - name: tasks.more
    effect: read
    run: {template: x}
#!    run: {templat: x}
`,
	"skills/wrong.yaml": `name: wrong.yaml
effect: read
run: {template: x}
#!run: [
`,
}

// writeMistakes writes the files with the mistakes that are wanted and returns
// the folder. The first is number 0.
func writeMistakes(t *testing.T, want func(int) bool) (dir string, count int) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range manyMistakes {
			if !yield(n) {
				return
			}
		}
	}) {
		var out []string
		for line := range strings.Lines(manyMistakes[name]) {
			bad, isMistake := strings.CutPrefix(line, "#!")
			if !isMistake {
				out = append(out, line)
				continue
			}
			if want(count) {
				out[len(out)-1] = bad
			}
			count++
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(out, "")), 0o600))
	}
	return dir, count
}

func mistakesOf(t *testing.T, dir string) []string {
	t.Helper()
	err := assembly.CheckDraft(config.Inspect(filepath.Join(dir, "vedette.yaml"),
		config.Options{Env: func(string) (string, bool) { return "", false }}))
	if err == nil {
		return nil
	}
	var list config.Errors
	require.ErrorAs(t, err, &list)
	var out []string
	for _, e := range list {
		require.NotZero(t, e.Line, e)
		out = append(out, strings.ReplaceAll(e.Error(), dir+string(filepath.Separator), ""))
	}
	return out
}

// Every mistake is found in one pass: all of them together are what each alone
// is, and nothing is told that only follows from another.
func TestEveryMistakeInOnePass(t *testing.T) {
	dir, count := writeMistakes(t, func(int) bool { return false })
	require.Empty(t, mistakesOf(t, dir), "without the mistakes it is right")
	require.Greater(t, count, 30)
	var each []string
	for i := range count {
		dir, _ := writeMistakes(t, func(n int) bool { return n == i })
		alone := mistakesOf(t, dir)
		require.NotEmpty(t, alone, "mistake %d", i)
		each = append(each, alone...)
	}
	slices.Sort(each)
	each = slices.Compact(each)
	dir, _ = writeMistakes(t, func(int) bool { return true })
	all := mistakesOf(t, dir)
	slices.Sort(all)
	require.Equal(t, strings.Join(each, "\n"), strings.Join(all, "\n"))
}
