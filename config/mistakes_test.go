package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"os"
	"path/filepath"

	"github.com/vedette-dev/vedette/config"
)

const skillYAML = "name: email.send\neffect: irreversible\nrun: {template: sent}\n"

// Each kind of mistake is one error, at its place, that says what to do.
func TestMistakes(t *testing.T) {
	tests := []struct{ name, yaml, want string }{
		{"unknown key", "version: 1\nserver: {lisen: 'x'}", `vedette.yaml:2:10: unknown key "lisen"; did you mean "listen"?`},
		{"unknown key without a neighbour", "version: 1\njournal: {zzzzzz: 1}", `vedette.yaml:2:11: unknown key "zzzzzz"; known are retention`},
		{"missing version", "limits: {}", `vedette.yaml:1:1: version is missing; write version: 1`},
		{"empty file", "", `vedette.yaml:1:1: version is missing; write version: 1`},
		{"comments alone", "# nothing\n", `vedette.yaml:1:1: version is missing; write version: 1`},
		{"a tab", "version: 1\nguard:\n\troots: [a]\n", `vedette.yaml:3:1: line 3 uses a tab for indentation; use spaces`},
		{"a tab after blanks", "version: 1\nguard:\n \troots: [a]\n  \t\tx: {\n",
			`vedette.yaml:4:3: line 4 uses a tab for indentation; use spaces`},
		{"a tab in braces", "version: 1\nguard: {\n\troots: [a]\n",
			`vedette.yaml:2:8: YAML: could not find flow mapping end token '}'; line 3 uses a tab for indentation; use spaces`},
		{"a tab in a text", "version: 1\nmodels: |\n  a\n  \tb\nguard: {\n", `vedette.yaml:5:8: YAML: could not find flow mapping end token '}'`},
		{"not a mapping", "- 1", `vedette.yaml:1:1: the file must be a mapping of keys to values, not a list`},
		{"wrong version", "version: 7", `vedette.yaml:1:10: version must be 1, not "7"`},
		{"section without a value", "version: 1\nguard:\n", `vedette.yaml:2:1: guard has no value; write one or remove the key`},
		{"null in a list", "version: 1\nguard: {forbid_paths: [~]}",
			`vedette.yaml:2:24: guard.forbid_paths[0] has no value; write one or remove the key`},
		{"text where a mapping is", "version: 1\nlimits: 5", `vedette.yaml:2:9: limits must be a mapping of keys to values, not "5"`},
		{"text where a list is", "version: 1\nguard: {roots: ./x}", `vedette.yaml:2:16: guard.roots must be a list, not "./x"`},
		{"list where text is", "version: 1\nserver: {listen: [a]}", `vedette.yaml:2:18: server.listen must be text, not a list`},
		{"number where text is", "version: 1\nserver: {listen: 80}", `vedette.yaml:2:18: server.listen must be text; write "80" in quotes`},
		{"bool where text is", "version: 1\nledger: {path: true}", `vedette.yaml:2:16: ledger.path must be text; write "true" in quotes`},
		{"number as a key", "version: 1\nmodels: {m: {model: m, base_url: u, api_key: 12345}}",
			`vedette.yaml:2:46: models.m.api_key must be text; write it in quotes`},
		{"models of no kind", "version: 1\nmodels: 5\nroles: {agent: a}",
			`vedette.yaml:2:9: models must be a mapping of names to values, not "5"`},
		{"empty text", "version: 1\nledger: {path: ' '}", `vedette.yaml:2:16: ledger.path is empty; write a value or remove the key`},
		{"quoted number", "version: 1\nlimits: {agent: {calls: '5'}}",
			`vedette.yaml:2:25: limits.agent.calls must be a whole number from 1 to 10000, not "5"`},
		{"leading zero", "version: 1\nlimits: {agent: {calls: 010}}",
			`vedette.yaml:2:25: limits.agent.calls must be a whole number from 1 to 10000, not "010"`},
		{"number too large", "version: 1\nlimits: {turn: {calls: 99999999999999999999}}",
			`vedette.yaml:2:24: limits.turn.calls must be a whole number from 1 to 10000, not "99999999999999999999"`},
		{"yes for true", "version: 1\nmodels: {a: {model: m, base_url: u, reasoning: yes}}",
			`vedette.yaml:2:48: models.a.reasoning must be true or false, not "yes"`},
		{"duration without unit", "version: 1\napprovals: {timeout: 30}",
			`vedette.yaml:2:22: approvals.timeout must be a duration such as 30s, 5m or 1h30m, not "30"`},
		{"duration in days", "version: 1\napprovals: {timeout: 30d}",
			`vedette.yaml:2:22: approvals.timeout must be a duration such as 30s, 5m or 1h30m, not "30d"; days are written in hours: 720h`},
		{"duration out of range", "version: 1\nsentinel: {cache_ttl: -1s}",
			`vedette.yaml:2:23: sentinel.cache_ttl must be from 0s to 24h, not "-1s"`},
		{"enum", "version: 1\nsentinel: {mode: enforced}",
			`vedette.yaml:2:18: sentinel.mode must be one of enforce, shadow, off, not "enforced"; did you mean "enforce"?`},
		{"enum as a bool", "version: 1\nsentinel: {mode: false}",
			`vedette.yaml:2:18: sentinel.mode must be one of enforce, shadow, off, not "false"`},
		{"action a rule can't have", "version: 1\npermissions: [{skill: '*', then: defer}]",
			`vedette.yaml:2:34: permissions[0].then must be one of allow, ask, deny, modify, not "defer"`},
		{"a rewrite of nothing", "version: 1\npermissions: [{skill: '*', then: modify}]",
			`vedette.yaml:2:34: permissions[0]: then is modify and nothing says what; add modify: [{set: …, to: …}]`},
		{"an empty rewrite", "version: 1\npermissions: [{skill: '*', then: modify, modify: []}]",
			`vedette.yaml:2:50: permissions[0].modify is an empty list, which means nothing; remove the key or name some`},
		{"a rewrite of a rule that doesn't", "version: 1\npermissions: [{skill: '*', then: ask, modify: [{remove: cc}]}]",
			`vedette.yaml:2:47: permissions[0].modify is for rules that say then: modify`},
		{"unknown rewrite", "version: 1\npermissions: [{skill: '*', then: modify, modify: [{redcat: x}]}]",
			`vedette.yaml:2:52: unknown key "redcat"; did you mean "redact"?`},
		{"a bound that is no number", "version: 1\npermissions: [{skill: '*', then: modify, modify: [{clamp: x, max: much}]}]",
			`vedette.yaml:2:67: permissions[0].modify[0].max must be a number, not "much"`},
		{"a constant without a value", "version: 1\npermissions: [{skill: '*', then: modify, modify: [{set: x, to: }]}]",
			`vedette.yaml:2:60: permissions[0].modify[0].to has no value; write one or remove the key`},
		{"test without an expectation", "version: 1\ntests: [{name: x, call: {skill: a.b}}]", `vedette.yaml:2:9: tests[0].expect is missing`},
		{"test of no call", "version: 1\ntests: [{name: x, expect: deny}]", `vedette.yaml:2:9: tests[0].call is missing`},
		{"test with a misspelt key", "version: 1\ntests: [{name: x, call: {skil: a.b}, expect: deny}]",
			`vedette.yaml:2:19: tests[0].call.skill is missing` + "\n" + `vedette.yaml:2:26: unknown key "skil"; did you mean "skill"?`},
		{"test of a wrong outcome", "version: 1\ntests: [{name: x, call: {skill: a.b}, expect: denied}]",
			`vedette.yaml:2:47: tests[0].expect must be one of allow, ask, deny, modify, not "denied"`},
		{"test of a gate that can't", "version: 1\ntests: [{name: x, call: {skill: a.b}, expect: deny, gate: review}]",
			`vedette.yaml:2:59: tests[0].gate must be one of parse, schema, scope, permission, guard, judge, not "review"`},
		{"test of allow with a code", "version: 1\ntests: [{name: x, call: {skill: a.b}, expect: allow, code: x.y}]",
			`vedette.yaml:2:9: tests[0]: an allowed call has no code and no gate; remove them`},
		{"test at no time", "version: 1\ntests: [{name: x, call: {skill: a.b}, expect: allow, time: noon}]",
			`vedette.yaml:2:60: tests[0].time must be a time such as 2026-01-31T18:00:00Z, not "noon"`},
		{"test with arguments of no mapping", "version: 1\ntests: [{name: x, call: {skill: a.b, args: [1]}, expect: allow}]",
			`vedette.yaml:2:44: tests[0].call.args must be a mapping of arguments to values, not a list`},
		{"test with history of no mapping", "version: 1\ntests: [{name: x, call: {skill: a.b}, history: [{skill: a.b, args: 1}], expect: allow}]",
			`vedette.yaml:2:68: tests[0].history[0].args must be a mapping of arguments to values, not "1"`},
		{"two tests of one name", "version: 1\ntests: [{name: x, call: {skill: a.b}, expect: ask}, {name: x, call: {skill: a.b}, expect: ask}]",
			`vedette.yaml:2:60: tests[1]: another test has this name already, at vedette.yaml:2:16`},
		{"limits on an unknown store", "version: 1\nlimits: {store: {driver: reddis}}",
			`vedette.yaml:2:26: limits.store.driver must be one of memory, redis, not "reddis"; did you mean "redis"?`},
		{"limits on a server without an address", "version: 1\nlimits: {store: {driver: redis}}",
			`vedette.yaml:2:26: limits.store.url is missing; write url: "${REDIS_URL}", such as redis://host:6379`},
		{"limits on a server with an empty address", "version: 1\nlimits: {store: {driver: redis, url: ''}}",
			`vedette.yaml:2:38: limits.store.url is empty; write a value or remove the key`},
		{"an address of no driver", "version: 1\nlimits: {store: {url: 'redis://h'}}",
			`vedette.yaml:2:18: limits.store.url is for driver redis, and there is no driver; write driver: redis`},
		{"a row of no effect", "version: 1\nlimits: {store: {driver: memory, when_away: {reads: deny}}}",
			`vedette.yaml:2:46: unknown key "reads"; did you mean "read"?`},
		{"a cell that is no outcome", "version: 1\nlimits: {store: {driver: memory, when_away: {read: open}}}",
			`vedette.yaml:2:52: limits.store.when_away.read must be one of allow, ask, defer, deny, not "open"`},
		{"a prefix with braces", "version: 1\nlimits: {store: {driver: memory, prefix: '{x}'}}",
			`vedette.yaml:2:42: limits.store.prefix must be a letter or digit, then up to 63 letters, digits, _, ., : and -, not "{x}"`},
		{"a server that may take its time", "version: 1\nlimits: {store: {driver: memory, timeout: 1m}}",
			`vedette.yaml:2:43: limits.store.timeout must be from 10ms to 10s, not "1m"`},
		{"metrics on every interface", "version: 1\ntelemetry: {metrics: {listen: ':9464'}}",
			`vedette.yaml:2:31: telemetry.metrics.listen names no host, which is every interface; write 127.0.0.1:9464, or 0.0.0.0:9464 if that ` +
				`is meant`},
		{"metrics on no port", "version: 1\ntelemetry: {metrics: {listen: localhost}}",
			`vedette.yaml:2:31: telemetry.metrics.listen must be host:port such as 127.0.0.1:9464, not "localhost"`},
		{"metrics on a port that there is none of", "version: 1\ntelemetry: {metrics: {listen: '127.0.0.1:65536'}}",
			`vedette.yaml:2:31: telemetry.metrics.listen must be host:port such as 127.0.0.1:9464, not "127.0.0.1:65536"`},
		{"metrics of another key", "version: 1\ntelemetry: {metrics: {address: '127.0.0.1:1'}}",
			`vedette.yaml:2:23: unknown key "address"; known are listen`},
		{"spans over gRPC", "version: 1\ntelemetry: {traces: {otlp: 'grpc://collector:4317'}}",
			`vedette.yaml:2:28: telemetry.traces.otlp must begin with http:// or https://; gRPC isn't spoken`},
		{"spans to a host alone", "version: 1\ntelemetry: {traces: {otlp: collector}}",
			`vedette.yaml:2:28: telemetry.traces.otlp must be an address such as http://collector:4318`},
		{"spans with a password in the address", "version: 1\ntelemetry: {traces: {otlp: 'http://u:hunter2@collector:4318'}}",
			`vedette.yaml:2:28: telemetry.traces.otlp holds a user or password; give it in the environment, as OTEL_EXPORTER_OTLP_HEADERS`},
		{"spans to an address with a query", "version: 1\ntelemetry: {traces: {otlp: 'http://collector:4318?key=hunter2'}}",
			`vedette.yaml:2:28: telemetry.traces.otlp holds a query or a fragment; give the address alone`},
		{"a share of spans that go nowhere", "version: 1\ntelemetry: {traces: {sample: 0.1}}",
			`vedette.yaml:2:30: telemetry.traces.sample is a share of spans that go nowhere; write otlp: http://collector:4318`},
		{"a share above one", "version: 1\ntelemetry: {traces: {otlp: 'http://c:4318', sample: 2}}",
			`vedette.yaml:2:53: telemetry.traces.sample must be a number from 0 to 1, not "2"`},
		{"three decimals", "version: 1\njudge: {ask_below: 0.501}",
			`vedette.yaml:2:20: judge.ask_below must have at most two decimals, not "0.501"`},
		{"above one", "version: 1\njudge: {threshold: 1.01}", `vedette.yaml:2:20: judge.threshold must be a number from 0 to 1, not "1.01"`},
		{"percent", "version: 1\njudge: {threshold: 30}", `vedette.yaml:2:20: judge.threshold must be a number from 0 to 1, not "30"`},
		{"duplicate key", "version: 1\njudge: {threshold: 0.1, threshold: 0.2}",
			`vedette.yaml:2:25: key "threshold" stands here a second time; the first is on line 2`},
		{"model without address", "version: 1\nmodels:\n  fast: {model: m}", `vedette.yaml:3:3: models.fast.base_url is missing`},
		{"model name", "version: 1\nmodels: {'a b': {model: m, base_url: u}}",
			`vedette.yaml:2:10: models: the name "a b" may hold letters, digits, _ and - only`},
		{"unknown role", "version: 1\nroles: {sentinal: x}", `vedette.yaml:2:9: unknown key "sentinal"; did you mean "sentinel"?`},
		{"role without models", "version: 1\nroles: {agent: []}",
			`vedette.yaml:2:16: roles.agent is an empty list, which means nothing; remove the key or name some`},
		{"a mode for an unknown effect", "version: 1\nsentinel: {modes: {effect: {reed: enforce}}}",
			`vedette.yaml:2:29: unknown key "reed"; did you mean "read"?`},
		{"an unknown mode for an effect", "version: 1\nsentinel: {modes: {effect: {read: of}}}",
			`vedette.yaml:2:35: sentinel.modes.effect.read must be one of enforce, shadow, off, not "of"; did you mean "off"?`},
		{"a mode for an unknown skill", "version: 1\nsentinel: {modes: {skill: {agent.dispatsh: shadow}}}",
			`vedette.yaml:2:28: sentinel.modes.skill: unknown skill "agent.dispatsh"; did you mean "agent.dispatch"?`},
		{"a mode for no skill's name", "version: 1\nsentinel: {modes: {skill: {'*': shadow}}}",
			`vedette.yaml:2:28: sentinel.modes.skill: a key must be a skill's name such as email.send, not "*"`},
		{"a bound for a grade that isn't asked for", "version: 1\nsentinel: {reject_below: 0.4}",
			`vedette.yaml:2:26: sentinel.reject_below is for answer: graded, and the answer is binary`},
		{"a second opinion of no model", "version: 1\nsentinel: {escalate: {approved: [read]}}",
			`vedette.yaml:2:22: sentinel.escalate.to is missing; name the stronger model`},
		{"a second opinion of an unknown model", "version: 1\nmodels: {fast: {model: m, base_url: u}}\nsentinel: {escalate: {to: fst}}",
			`vedette.yaml:3:27: sentinel.escalate.to: unknown model "fst"; did you mean "fast"?`},
		{"a second opinion of the same model",
			"version: 1\nmodels: {fast: {model: m, base_url: u}}\nroles: {sentinel: fast}\nsentinel: {escalate: {to: fast}}",
			`vedette.yaml:4:27: sentinel.escalate.to: "fast" is in roles.sentinel already; a second opinion is another model's`},
		{"a second opinion on an unknown effect",
			"version: 1\nmodels: {fast: {model: m, base_url: u}}\nsentinel: {escalate: {to: fast, approved: [write]}}",
			`vedette.yaml:3:44: sentinel.escalate.approved[0] must be one of read, create, modify, irreversible, costs_money, not "write"`},
		{"a reviewer without a schema", "version: 1\nmodels: {a: {model: m, base_url: u, json_schema: false}}\nroles: {sentinel: a}",
			`vedette.yaml:2:10: models.a is in the review and has json_schema: false; say how it answers: schemaless: tool, or json_object`},
		{"a way round a schema that there is", "version: 1\nmodels: {a: {model: m, base_url: u, schemaless: tool}}",
			`vedette.yaml:2:49: models.a.schemaless is for servers without json_schema; write json_schema: false beside it, or remove it`},
		{"a forced tool without tools", "version: 1\nmodels: {a: {model: m, base_url: u, json_schema: false, tools: false, schemaless: tool}}",
			`vedette.yaml:2:83: models.a.schemaless is tool, and the model takes no tools; write json_object`},
		{"a review's cost without prices", "version: 1\nmodels: {a: {model: m, base_url: u}}\nsentinel: {budget: {day: {cost: 1}}}",
			`vedette.yaml:2:10: models.a has no price and sentinel.budget has a cost; write price: {input: 0.25, output: 2.00}, for a million ` +
				`tokens`},
		{"unknown model in a chain", "version: 1\nmodels: {fast: {model: m, base_url: u}}\nroles: {agent: [fast, fst]}",
			`vedette.yaml:3:23: roles.agent: unknown model "fst"; did you mean "fast"?`},
		{"rule without then", "version: 1\npermissions: [{skill: email.send}]", `vedette.yaml:2:15: permissions[0].then is missing`},
		{"rule for an unknown skill", "version: 1\npermissions: [{skill: email.sent, then: deny}]",
			`vedette.yaml:2:23: unknown skill "email.sent"; did you mean "email.send"?`},
		{"rule for an unknown domain", "version: 1\npermissions: [{skill: mail.*, then: deny}]",
			`vedette.yaml:2:23: the rule can match nothing: unknown domain "mail.*"; did you mean "email.*"?`},
		{"rule pattern", "version: 1\npermissions: [{skill: 'email.s*', then: deny}]",
			`vedette.yaml:2:23: skill must be a skill's name such as email.send, a domain such as email.*, or *; not "email.s*"`},
		{"rule for no user", "version: 1\npermissions: [{skill: '*', users: [], then: deny}]",
			`vedette.yaml:2:35: permissions[0].users is an empty list, which means nothing; remove the key or name some`},
		{"rule id", "version: 1\npermissions: [{id: 'a b', skill: '*', then: deny}]",
			`vedette.yaml:2:20: permissions[0].id must be a letter, then up to 63 letters, digits, _, . and -, not "a b"`},
		{"two rules of one id", "version: 1\npermissions: [{id: a, skill: '*', then: deny}, {id: a, skill: '*', then: ask}]",
			`vedette.yaml:2:53: permissions[1]: another rule has the id "a" already, at vedette.yaml:2:20; give one of them another id`},
		{"listen without port", "version: 1\nserver: {listen: localhost}",
			`vedette.yaml:2:18: server.listen must be host:port such as 127.0.0.1:8420, not "localhost"`},
		{"bad forbid pattern", "version: 1\nguard: {forbid_paths: ['a[']}",
			`vedette.yaml:2:24: guard.forbid_paths[0]: "a[" is not a valid glob pattern; close each [ and {, or write \ before it`},
		{"root over the database", "version: 1\nguard: {roots: [state]}\nledger: {path: state/db/v.db}\nkeys: {dir: k}",
			`vedette.yaml:2:17: guard.roots[0] contains the database (state/db/v.db), its later files (state/db/v.db.d); ` +
				`give agents a folder of their own`},
		{"root over the keys", "version: 1\nguard: {roots: [k]}\nkeys: {dir: ./k/}",
			`vedette.yaml:2:17: guard.roots[0] contains the keys (k); give agents a folder of their own`},
		{"root in the keys", "version: 1\nguard: {roots: [k/x]}\nkeys: {dir: k}",
			`vedette.yaml:2:17: guard.roots[0] lies in the folder of the keys; give agents a folder of their own`},
		{"home without HOME", "version: 1\nguard: {roots: ['~/x']}",
			`vedette.yaml:2:17: ~ can't be resolved because HOME isn't set; write the path out`},
		{"include without a file", "version: 1\nskills: {include: ['none/*.yaml', email.yaml]}",
			`vedette.yaml:2:20: include "none/*.yaml" matches no file`},
		{"include of itself", "version: 1\nskills: {include: ['*.yaml']}",
			`vedette.yaml:2:20: include "*.yaml" leads back to vedette.yaml, which is being read: a cycle`},
		{"syntax", "version: 1\nguard: {roots: [a\n", `vedette.yaml:2:16: YAML: sequence end token ']' not found`},
		{"indentation", "version: 1\n  x: 1\n",
			`vedette.yaml:1:10: YAML: mapping value is not allowed in this context; check the indentation of this line and of those before it`},
		{"text that begins with !", "version: 1\npermissions: [{skill: '*', then: deny, when: !call.outward}]",
			`vedette.yaml:2:59: YAML: found invalid tag character '}'; put a text that begins with ! in quotes`},
		{"open quote", "version: 1\nguard: {roots: [\"a]}\n",
			`vedette.yaml:2:17: YAML: could not find end character of double-quoted text; close the quote`},
		{"quote within quotes", "version: 1\npermissions: [{skill: '*', then: deny, when: 'user == 'x''}]",
			`vedette.yaml:2:56: YAML: ',' or '}' must be specified; look at the quotes: within single quotes a ' is written ''`},
		{"two documents", "version: 1\n---\nversion: 1", `vedette.yaml:3:1: a second document starts here; a file holds one`},
		{"merge key", "version: 1\nlimits: &x {}\njudge: {<<: *x}", `vedette.yaml:3:9: merge keys (<<) are not supported; write the keys out`},
		{"alias without anchor", "version: 1\nlimits: *x", `vedette.yaml:2:9: alias "x" has no anchor before it`},
		{"tag", "version: !!int 1", `vedette.yaml:1:10: tags are not supported; quote the value if it must be text`},
		{"explicit key", "? version\n: 1", `vedette.yaml:1:1: explicit keys (?) are not supported; write key: value`},
		{"directive", "%YAML 1.2\n---\nversion: 1", `vedette.yaml:1:1: directives are not supported; remove the line`},
		{"control character", "version: 1\nx: \"a\x00b\"", `vedette.yaml:2:6: the file must be UTF-8 text without control characters`},
		{"not UTF-8", "version: 1\nx: \xff", `vedette.yaml:2:4: the file must be UTF-8 text without control characters`},
		{"too large", "version: 1\n#" + strings.Repeat("x", config.MaxFile),
			fmt.Sprintf(`vedette.yaml:1:1: the file has more than %d bytes`, config.MaxFile)},
		{"too deep", "version: 1\nx: " + strings.Repeat("[", 80), `vedette.yaml:2:67: more than 64 levels of nesting`},
		{"host with a scheme", "version: 1\nanswers: {links: {allow: ['https://example.com']}}",
			`vedette.yaml:2:27: answers.links.allow[0] must be a host such as example.com, or *.example.com for those below it, without scheme, ` +
				`port and path (international names as xn--…), not "https://example.com"`},
		{"host with a port", "version: 1\nanswers: {links: {allow: [ok.example, 'example.com:8080']}}",
			`vedette.yaml:2:39: answers.links.allow[1] must be a host such as example.com, or *.example.com for those below it, without scheme, ` +
				`port and path (international names as xn--…), not "example.com:8080"`},
		{"host with a path", "version: 1\nanswers: {links: {allow: ['example.com/x']}}",
			`vedette.yaml:2:27: answers.links.allow[0] must be a host such as example.com, or *.example.com for those below it, without scheme, ` +
				`port and path (international names as xn--…), not "example.com/x"`},
		{"star for everything", "version: 1\nanswers: {links: {allow: ['*']}}",
			`vedette.yaml:2:27: answers.links.allow[0] must be a host such as example.com, or *.example.com for those below it, without scheme, ` +
				`port and path (international names as xn--…), not "*"`},
		{"star over a top-level domain", "version: 1\nanswers: {links: {allow: ['*.com']}}",
			`vedette.yaml:2:27: answers.links.allow[0] must be a host such as example.com, or *.example.com for those below it, without scheme, ` +
				`port and path (international names as xn--…), not "*.com"`},
		{"star inside", "version: 1\nanswers: {links: {allow: ['a.*.com']}}",
			`vedette.yaml:2:27: answers.links.allow[0] must be a host such as example.com, or *.example.com for those below it, without scheme, ` +
				`port and path (international names as xn--…), not "a.*.com"`},
		{"host in its own script", "version: 1\nanswers: {links: {allow: ['bücher.example']}}",
			`vedette.yaml:2:27: answers.links.allow[0] must be a host such as example.com, or *.example.com for those below it, without scheme, ` +
				`port and path (international names as xn--…), not "bücher.example"`},
		{"host with an end", "version: 1\nanswers: {links: {allow: ['example.com.']}}",
			`vedette.yaml:2:27: answers.links.allow[0] must be a host such as example.com, or *.example.com for those below it, without scheme, ` +
				`port and path (international names as xn--…), not "example.com."`},
		{"canaries by a slip", "version: 1\nsentinel: {canaries: {every: 6ms}}",
			`vedette.yaml:2:30: sentinel.canaries.every must be 0s, which is never, or from 1m to 720h, not "6ms"`},
		{"canaries below a minute", "version: 1\nsentinel: {canaries: {every: 59s}}",
			`vedette.yaml:2:30: sentinel.canaries.every must be 0s, which is never, or from 1m to 720h, not "59s"`},
		{"canaries backwards", "version: 1\nsentinel: {canaries: {every: -1h}}",
			`vedette.yaml:2:30: sentinel.canaries.every must be 0s, which is never, or from 1m to 720h, not "-1h"`},
		{"canaries beyond", "version: 1\nsentinel: {canaries: {every: 721h}}",
			`vedette.yaml:2:30: sentinel.canaries.every must be 0s, which is never, or from 1m to 720h, not "721h"`},
		{"spans to a port that there is none of", "version: 1\ntelemetry: {traces: {otlp: 'http://a:99999'}}",
			`vedette.yaml:2:28: telemetry.traces.otlp must name a host, and a port from 1 to 65535, such as http://collector:4318`},
		{"a model at a port that there is none of", "version: 1\nmodels: {m: {model: m, base_url: 'http://h:99999/v1'}}",
			`vedette.yaml:2:34: models.m.base_url must name a host, and a port from 1 to 65535 if any, such as http://127.0.0.1:8080/v1`},
		{"a model at port nought", "version: 1\nmodels: {m: {model: m, base_url: 'http://h:0/v1'}}",
			`vedette.yaml:2:34: models.m.base_url must name a host, and a port from 1 to 65535 if any, such as http://127.0.0.1:8080/v1`},
		{"a model at a host with an empty label", "version: 1\nmodels: {m: {model: m, base_url: 'http://a..b/v1'}}",
			`vedette.yaml:2:34: models.m.base_url must name a host, and a port from 1 to 65535 if any, such as http://127.0.0.1:8080/v1`},
		{"a model at half an address", "version: 1\nmodels: {m: {model: m, base_url: 'http://1.2.3/v1'}}",
			`vedette.yaml:2:34: models.m.base_url must name a host, and a port from 1 to 65535 if any, such as http://127.0.0.1:8080/v1`},
		{"a model at no port behind a colon", "version: 1\nmodels: {m: {model: m, base_url: 'http://u:hunter2@h:/v1'}}",
			`vedette.yaml:2:34: models.m.base_url must name a host, and a port from 1 to 65535 if any, such as http://127.0.0.1:8080/v1`},
		{"limits on a host with an empty label", "version: 1\nlimits: {store: {driver: redis, url: 'redis://u:hunter2@a..b:1'}}",
			`vedette.yaml:2:38: limits.store.url must name a host, and a port from 1 to 65535 if any, such as redis://host:6379`},
		{"spans to port nought", "version: 1\ntelemetry: {traces: {otlp: 'http://a:0'}}",
			`vedette.yaml:2:28: telemetry.traces.otlp must name a host, and a port from 1 to 65535, such as http://collector:4318`},
		{"spans to no port", "version: 1\ntelemetry: {traces: {otlp: 'http://a:'}}",
			`vedette.yaml:2:28: telemetry.traces.otlp must name a host, and a port from 1 to 65535, such as http://collector:4318`},
		{"spans to a host that can't be", "version: 1\ntelemetry: {traces: {otlp: 'http://a..b:4318'}}",
			`vedette.yaml:2:28: telemetry.traces.otlp must name a host, and a port from 1 to 65535, such as http://collector:4318`},
		{"spans to half an address", "version: 1\ntelemetry: {traces: {otlp: 'http://10.0.0:4318'}}",
			`vedette.yaml:2:28: telemetry.traces.otlp must name a host, and a port from 1 to 65535, such as http://collector:4318`},
		{"metrics on a host that can't be", "version: 1\ntelemetry: {metrics: {listen: 'nohost..bad:80'}}",
			`vedette.yaml:2:31: telemetry.metrics.listen must be host:port such as 127.0.0.1:9464, not "nohost..bad:80"`},
		{"metrics on a host with a blank", "version: 1\ntelemetry: {metrics: {listen: '127.0.0.1 :80'}}",
			`vedette.yaml:2:31: telemetry.metrics.listen must be host:port such as 127.0.0.1:9464, not "127.0.0.1 :80"`},
		{"metrics on a host that ends in a dash", "version: 1\ntelemetry: {metrics: {listen: 'a-:80'}}",
			`vedette.yaml:2:31: telemetry.metrics.listen must be host:port such as 127.0.0.1:9464, not "a-:80"`},
		{"metrics on half an address", "version: 1\ntelemetry: {metrics: {listen: '127.0.1:80'}}",
			`vedette.yaml:2:31: telemetry.metrics.listen must be host:port such as 127.0.0.1:9464, not "127.0.1:80"`},
		{"metrics nowhere, told once", "version: 1\ntelemetry: {metrics: {listen: ''}}",
			`vedette.yaml:2:31: telemetry.metrics.listen is empty; write a value or remove the key`},
		{"spans nowhere, told once", "version: 1\ntelemetry: {traces: {otlp: ' '}}",
			`vedette.yaml:2:28: telemetry.traces.otlp is empty; write a value or remove the key`},
		{"nothing from the environment, told once", "version: 1\ntelemetry: {traces: {otlp: '${NOTHING:-}'}}",
			`vedette.yaml:2:28: telemetry.traces.otlp is empty; write a value or remove the key`},
		{"listen on a host that can't be", "version: 1\nserver: {listen: 'a..b:80'}",
			`vedette.yaml:2:18: server.listen must be host:port such as 127.0.0.1:8420, not "a..b:80"`},
		{"unclosed reference", "version: 1\nserver: {listen: '${X'}", `vedette.yaml:2:18: ${ without }; write $${ for the characters themselves`},
		{"bad reference", "version: 1\nserver: {listen: '${X-1}'}",
			`vedette.yaml:2:18: only ${NAME} and ${NAME:-default} are replaced; write $${ for the characters themselves`},
		{"missing variables", "version: 1\nserver: {listen: '${H}:${P}'}",
			`vedette.yaml:2:18: environment variable H is not set; set it, or give a default: ${H:-…}` + "\n" +
				`vedette.yaml:2:18: environment variable P is not set; set it, or give a default: ${P:-…}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"vedette.yaml": tt.yaml, "email.yaml": skillYAML}
			if !strings.Contains(tt.yaml, "include:") && strings.HasPrefix(tt.yaml, "version: 1\nperm") {
				files["vedette.yaml"] += "\nskills: {include: [email.yaml]}"
			}
			c, dir, err := load(t, files, config.Options{})
			require.Nil(t, c)
			require.Equal(t, strings.Split(tt.want, "\n"), mistakes(t, dir, err))
		})
	}
}

// Vedette, or the skill's own check, finds the mistakes in a skill file once. They
// stand in the skill file.
func TestSkillMistakes(t *testing.T) {
	tests := []struct{ name, yaml, want string }{
		{"no effect", "name: a.b\nrun: {template: x}",
			`s.yaml:1:1: skills[a.b].effect: is missing; say read, create, modify, irreversible or costs_money`},
		{"unknown effect", "name: a.b\neffect: raed\nrun: {template: x}",
			`s.yaml:2:9: skills[a.b].effect must be one of read, create, modify, irreversible, costs_money, not "raed"; did you mean "read"?`},
		{"no name", "effect: read\nrun: {template: x}", `s.yaml:1:1: skill.name is missing`},
		{"bad name", "name: Mail\neffect: read\nrun: {template: x}",
			`s.yaml:1:7: skill.name: must be domain.action in lower-case letters, digits, _ and -, each part starting with a letter`},
		{"no run", "name: a.b\neffect: read", `s.yaml:1:1: skills[a.b].run is missing`},
		{"two kinds", "name: a.b\neffect: read\nrun: {template: x, http: {}}",
			`s.yaml:3:1: skills[a.b].run must name exactly one of template, http, exec, builtin, mcp; it names 2`},
		{"no kind", "name: a.b\neffect: read\nrun: {}",
			`s.yaml:3:1: skills[a.b].run must name exactly one of template, http, exec, builtin, mcp; it names 0`},
		{"kind without options", "name: a.b\neffect: read\nrun: {http: }", `s.yaml:3:7: skills[a.b].run.http has no value; write its options`},
		{"go can't be configured", "name: a.b\neffect: read\nrun: {go: x}",
			`s.yaml:3:7: skills[a.b].run names an unknown kind "go"; known are template, http, exec, builtin, mcp`},
		{"unknown key", "name: a.b\neffect: read\nrun: {template: x}\ntimeuot: 3s", `s.yaml:4:1: unknown key "timeuot"; did you mean "timeout"?`},
		{"timeout too long", "name: a.b\neffect: read\nrun: {template: x}\ntimeout: 31m",
			`s.yaml:4:10: skills[a.b].timeout must be from 1ms to 30m, not "31m"`},
		{"schema keyword", "name: a.b\neffect: read\nrun: {template: x}\nparameters: {type: object, properties: {x: {typ: string}}}",
			`s.yaml:4:50: skills[a.b].parameters.properties.x.typ: unknown schema keyword "typ"; did you mean "type"?`},
		{"schema of no object", "name: a.b\neffect: read\nrun: {template: x}\nparameters: {type: string}",
			`s.yaml:4:1: skills[a.b].parameters: must be the schema of an object: say "type": "object"`},
		{"no JSON number", "name: a.b\neffect: read\nrun: {template: x}\nparameters: {type: object, maxProperties: .inf}",
			`s.yaml:4:43: skills[a.b].parameters.maxProperties holds ".inf", which is no JSON number; quote it or write it plainly`},
		{"octal or not", "name: a.b\neffect: read\nrun: {http: {port: 010}}",
			`s.yaml:3:20: skills[a.b].run.http.port holds "010", which is no JSON number; quote it or write it plainly`},
		{"declared twice", "skills:\n- {name: a.b, effect: read, run: {template: x}}\n- {name: a.b, effect: read, run: {template: y}}",
			`s.yaml:3:10: skill "a.b" is declared twice; the first is at s.yaml:2:10`},
		{"a name of the orchestrator", "name: agent.dispatch\neffect: read\nrun: {template: x}",
			`s.yaml:1:7: skill "agent.dispatch" is in the domain agent.*, which holds the orchestrator's own calls; choose another domain`},
		{"the orchestrator's domain",
			"skills:\n- {name: ok.x, effect: read, run: {template: x}}\n- {effect: read, run: {template: x}, name: agent.help}",
			`s.yaml:3:44: skill "agent.help" is in the domain agent.*, which holds the orchestrator's own calls; choose another domain`},
		{"below the orchestrator's domain", "name: agent.mail.send\neffect: read\nrun: {template: x}",
			`s.yaml:1:7: skill "agent.mail.send" is in the domain agent.*, which holds the orchestrator's own calls; choose another domain`},
		{"list of texts", "skills: [a.b]", `s.yaml:1:10: skills[0] must be a mapping of keys to values, not "a.b"`},
		{"skills without a value", "skills:\n", `s.yaml:1:1: skills has no value; write one or remove the key`},
		{"no list", "skills: {name: a.b}", `s.yaml:1:9: skills must be a list of skills, not a mapping`},
		{"unknown key beside skills", "skills: []\nincldue: []", `s.yaml:2:1: unknown key "incldue"; did you mean "include"?`},
		{"a list alone", "- name: a.b", `s.yaml:1:1: a skill file holds one skill, or a list of them under skills`},
		{"syntax", "name: [", `s.yaml:1:7: YAML: sequence end token ']' not found`},
		{"include cycle", "include: [s.yaml]", `s.yaml:1:11: include "s.yaml" leads back to s.yaml, which is being read: a cycle`},
		{"include cycle over two", "include: [t.yaml]", `t.yaml:1:11: include "s.yaml" leads back to s.yaml, which is being read: a cycle`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, dir, err := load(t, map[string]string{
				"vedette.yaml": "version: 1\nskills: {include: [s.yaml]}",
				"s.yaml":       tt.yaml, "t.yaml": "include: [s.yaml]",
			}, config.Options{})
			require.Equal(t, strings.Split(tt.want, "\n"), mistakes(t, dir, err))
		})
	}
}

// Twelve mistakes in two files are twelve errors, each where it stands, and
// none of them causes another.
func TestTwelveMistakes(t *testing.T) {
	dir := filepath.Join("testdata", "twelve")
	_, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{Env: env(nil)})
	require.Error(t, err)
	abs, aerr := filepath.Abs(dir)
	require.NoError(t, aerr)
	got := filepath.ToSlash(strings.ReplaceAll(strings.ReplaceAll(err.Error(), abs, "DIR"), dir+string(filepath.Separator), ""))
	golden(t, filepath.Join(dir, "golden.txt"), []byte(got+"\n"))
	var list config.Errors
	require.ErrorAs(t, err, &list)
	require.Len(t, list, 12)

	// The golden file can't tell whether a column is right: the text there can.
	starts := []string{"true}", "htpp:", "2", "20}", "fats", "permision:", "email.sned", "block", `"."`, "0}", "agent:", `"${NO_SUCH`}
	for i, e := range list {
		src, err := os.ReadFile(e.File)
		require.NoError(t, err)
		line := []rune(strings.Split(string(src), "\n")[e.Line-1])
		require.True(t, strings.HasPrefix(string(line[e.Column-1:]), starts[i]), "%s: the place shows %q", e, string(line[e.Column-1:]))
	}
}
