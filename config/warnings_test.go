package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// A setting that does nothing, or more than it seems to, is a warning with its
// place and a remedy. What is in order is none.
func TestWarnings(t *testing.T) {
	const roles = "roles: {sentinel: [fast, slow]}\n"
	const head = "version: 1\nmodels: {fast: {model: m, base_url: 'http://h', timeout: 20s}, slow: {model: m, base_url: 'http://h'}, " +
		"other: {model: m, base_url: 'http://h'}, patient: {model: m, base_url: 'http://h', timeout: 2m}}\n" + roles
	const everyEffect = "effect: {read: 'off', create: 'off', modify: 'off', irreversible: 'off', costs_money: 'off'}"
	for name, tc := range map[string]struct {
		yaml string
		want []string // "code at: message"
	}{
		"nothing":      {"", nil},
		"all in order": {"sentinel: {timeout: 20s, cache_ttl: 1m, cache_size: 5, unavailable: {read: allow}, canaries: {every: 1m}}", nil},
		"all effects off": {"sentinel: {modes: {" + everyEffect + "}}",
			[]string{"review_idle v.yaml:4:20: sentinel.modes turns the review off for every effect: the rules decide alone"}},
		"but for one skill": {"sentinel: {modes: {" + everyEffect + ", skill: {agent.dispatch: shadow}}}", nil},
		"but for an effect": {"sentinel: {modes: {effect: {read: 'off', create: 'off', modify: 'off', irreversible: 'off'}}}", nil},
		"off":               {"sentinel: {mode: 'off'}", nil},
		"strict":            {"sentinel: {profile: strict}", nil},
		"a profile without skills": {"sentinel: {profile: balanced}",
			[]string{"profile_unused v.yaml:4:21: sentinel.profile is balanced, and no skill is marked risk: low, so every call is still judged"}},
		"off, skill too": {"sentinel: {mode: 'off', budget: {day: {calls: 5}}, modes: {skill: {agent.dispatch: 'off'}}}",
			[]string{"review_unused v.yaml:4:25: the review is off, so this under sentinel does nothing: budget"}},
		"off and shaped": {"sentinel: {mode: 'off', escalate: {to: other, rejected: [read]}, budget: {day: {calls: 5}}, timeout: 100ms, " +
			"cache_ttl: 0s, cache_size: 5, unjudgeable: {read: allow}}",
			[]string{"review_unused v.yaml:4:25: the review is off, so this under sentinel does nothing: escalate, budget, timeout, cache_ttl, " +
				"cache_size, unjudgeable"}},
		"off but for one": {"sentinel: {mode: 'off', modes: {effect: {modify: enforce}}, budget: {day: {calls: 5}}}", nil},
		"short review": {"sentinel: {timeout: 100ms}",
			[]string{"review_timeout v.yaml:4:21: sentinel.timeout, 100ms, ends each review before models.fast.timeout, 20s, does"}},
		"default review": {"roles: {sentinel: patient}", nil},
		"short, shared":  {"sentinel: {timeout: 2s}\nroles: {sentinel: [slow, fast], agent: fast}", nil},
		"too short, shared": {"sentinel: {timeout: 1999ms}\nroles: {sentinel: [slow, fast], agent: fast}",
			[]string{"review_timeout v.yaml:3:21: sentinel.timeout, 1.999s, ends each review before models.fast.timeout, 20s, does"}},
		"no cache": {"sentinel: {cache_ttl: 0s, cache_size: 5}",
			[]string{"cache_off v.yaml:4:39: sentinel.cache_size does nothing: cache_ttl is 0s, so no answer is kept"}},
		"unjudgeable": {"sentinel: {unjudgeable: {read: allow, create: allow}}", []string{
			"unjudgeable_allow v.yaml:4:32: calls go ahead that no model could judge, and the writer of their arguments can make it so: " +
				"sentinel.unjudgeable allows read, create"}},
		"one address": {"telemetry: {metrics: {listen: '127.0.0.1:8420'}}",
			[]string{"listen_twice v.yaml:4:31: telemetry.metrics.listen is the address of server.listen too: only one of them can have it"}},
		"every interface": {"telemetry: {metrics: {listen: '0.0.0.0:8420'}}",
			[]string{"listen_twice v.yaml:4:31: telemetry.metrics.listen is the address of server.listen too: only one of them can have it"}},
		"the same, by name": {"server: {listen: 'localhost:80'}\ntelemetry: {metrics: {listen: '127.0.0.1:80'}}",
			[]string{"listen_twice v.yaml:5:31: telemetry.metrics.listen is the address of server.listen too: only one of them can have it"}},
		"other hosts": {"server: {listen: '127.0.0.1:80'}\ntelemetry: {metrics: {listen: '10.0.0.1:80'}}", nil},
		"any port":    {"server: {listen: '127.0.0.1:0'}\ntelemetry: {metrics: {listen: '127.0.0.1:0'}}", nil},
		"never asks": {"judge: {threshold: 0.6, ask_below: 0.4}",
			[]string{"ask_below_idle v.yaml:4:36: judge.ask_below, 0.40, is less than judge.threshold, 0.60: the judge denies such calls and " +
				"never asks a person"}},
		"never asks since": {"judge: {threshold: 0.6}",
			[]string{"ask_below_idle v.yaml:4:20: judge.ask_below, 0.50, is less than judge.threshold, 0.60: the judge denies such calls and " +
				"never asks a person"}},
		"asks of nothing": {"judge: {threshold: 0.6, ask_below: 0}", nil},
		"asks beyond it":  {"judge: {threshold: 0.6, ask_below: 0.6}", nil},
		"blanks": {"guard: {forbid_paths: [' ~/x', '/dev/null ', '**/*.pem', ' z']}", []string{
			"forbid_blanks v.yaml:4:24: guard.forbid_paths[0] begins or ends with a blank: it forbids only a name with that blank",
			"forbid_blanks v.yaml:4:32: guard.forbid_paths[1] begins or ends with a blank: it forbids only a name with that blank",
			"forbid_blanks v.yaml:4:58: guard.forbid_paths[3] begins or ends with a blank: it forbids only a name with that blank",
		}},
		"by their place": {"telemetry: {metrics: {listen: 'localhost:8420'}}\nsentinel: {cache_size: 1, timeout: 1s, cache_ttl: 0s}", []string{
			"listen_twice v.yaml:4:31: telemetry.metrics.listen is the address of server.listen too: only one of them can have it",
			"cache_off v.yaml:5:24: sentinel.cache_size does nothing: cache_ttl is 0s, so no answer is kept",
			"review_timeout v.yaml:5:36: sentinel.timeout, 1s, ends each review before models.fast.timeout, 20s, does",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			text := head + tc.yaml
			if strings.Contains(tc.yaml, "roles:") {
				text = strings.Replace(text, roles, "", 1)
			}
			c, err := config.Parse("v.yaml", []byte(text), config.Options{})
			require.NoError(t, err)
			var got []string
			for _, w := range c.Warnings() {
				require.NotEmpty(t, w.Advice)
				got = append(got, w.Code+" "+w.Pos.String()+": "+w.Msg)
			}
			require.Equal(t, tc.want, got)
		})
	}
	require.Empty(t, config.Default().Warnings())
}

// What is written and can't do what it seems to, or stands open, is told; no
// message shows a secret.
func TestWarningsOfWhatIsWritten(t *testing.T) {
	c, dir, err := load(t, map[string]string{
		"work/a.txt": "x", "vedette.yaml": `version: 1
models: {m: {model: m, base_url: 'http://h', api_key: sk-SECRET}, n: {model: m, base_url: 'http://h', api_key: '${KEY}'}, o: {model: m, ` +
			`base_url: 'http://h', api_key: '${NONE:-}'}}
roles: {sentinel: m}
sentinel: {unavailable: {read: allow, irreversible: allow, outward: allow}}
guard: {roots: [./work, ./wrok], forbid_paths: ['**/*.pem', 'secret/**', './work/*.key', '*.crt']}
server: {listen: '127.0.0.1:8421'}
skills: {include: [s.yaml]}
`, "s.yaml": `skills:
- name: a.get
  effect: read
  output: trusted
  parameters: {type: object, required: [id, ib], properties: {id: {type: string}}}
  run: {http: {url: 'https://u:SECRET@h/{id}', headers: {Authorization: Bearer SECRET, X-Token: '${KEY}', Accept: all}}}
- name: a.open
  effect: read
  parameters: {type: object, required: [ib], additionalProperties: true}
  run: {template: x}
- name: b.direct
  effect: irreversible
  parameters: {type: object, properties: {line: {type: string, x-shell: true}}}
  run: {exec: {argv: [sh, -c, 'eval "$1"', sh, '{{line}}'], write: [work], write_mode: direct}}
- name: b.landlock
  effect: irreversible
  parameters: {type: object, properties: {line: {type: string, x-shell: true}}}
  run: {exec: {argv: [sh, -c, 'eval "$1"', sh, '{{line}}'], write: [work], isolation: landlock}}
- name: b.snapshot
  effect: irreversible
  parameters: {type: object, properties: {line: {type: string, x-shell: true}}}
  run: {exec: {argv: [sh, -c, 'eval "$1"', sh, '{{line}}'], write: [work]}}
`}, config.Options{Env: env(map[string]string{"KEY": "sk-from-outside"})})
	require.NoError(t, err)
	var got []string
	for _, w := range c.Warnings() {
		require.NotEmpty(t, w.Advice)
		require.NotContains(t, w.Msg+w.Advice, "SECRET")
		got = append(got, strings.ReplaceAll(w.Code+" "+w.Pos.String(), dir+"/", ""))
	}
	require.Equal(t, []string{
		"output_trusted s.yaml:4:11", "required_unknown s.yaml:5:30", "secret_written s.yaml:6:21", "secret_written s.yaml:6:73",
		"write_direct s.yaml:14:88", "write_direct s.yaml:18:87",
		"secret_written vedette.yaml:2:55", "unavailable_allow vedette.yaml:4:53", "unavailable_allow vedette.yaml:4:69",
		"root_missing vedette.yaml:5:25", "forbid_missing vedette.yaml:5:61",
	}, got)
}
