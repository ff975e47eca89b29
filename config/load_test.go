package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/skills"
)

func loadGood(t testing.TB, vars map[string]string) *config.Config {
	t.Helper()
	c, err := config.Load(filepath.Join("testdata", "good", "vedette.yaml"), config.Options{Env: env(vars)})
	require.NoError(t, err)
	return c
}

// Every section arrives as it is written, and what isn't written keeps its default.
func TestLoadValues(t *testing.T) {
	c := loadGood(t, map[string]string{"TEST_API_KEY": "sk-test-1"})
	dir, err := filepath.Abs(filepath.Join("testdata", "good"))
	require.NoError(t, err)

	require.Equal(t, config.Model{Name: "fast", Model: "gpt-5-mini", BaseURL: "https://api.openai.com/v1",
		APIKey:  config.NewSecret("sk-test-1"),
		Timeout: 20 * time.Second, Reasoning: true, Effort: "low", Tools: true, JSONSchema: true, MaxResponse: 8 << 20, Concurrency: 64},
		c.Models["fast"])
	require.Equal(t, config.Model{Name: "local", Model: "qwen3:8b", BaseURL: "http://127.0.0.1:11434/v1", Timeout: time.Minute,
		Schemaless: "json_object", LegacyMaxTokens: true, MaxResponse: 1 << 20, Concurrency: 2, MaxTokens: 900}, c.Models["local"])
	require.Equal(t, map[string][]string{"orchestrator": {"primary"}, "agent": {"primary"}, "sentinel": {"fast", "primary"}}, c.Roles)

	require.Len(t, c.Permissions, 4)
	require.Equal(t, "outside", c.Permissions[0].ID)
	require.Equal(t, "rule-2", c.Permissions[1].ID)
	require.Equal(t, []string{"guest-*", "1234"}, c.Permissions[1].Users)
	require.Equal(t, config.Deny, c.Permissions[1].Then)
	require.Equal(t, "user.startsWith('guest-') && mission.size() > 1000", c.Permissions[2].When)
	require.Equal(t, config.Position{File: c.File, Line: 31, Column: 5}, c.Permissions[2].Pos)

	m := c.Permissions[3].Modify
	require.Len(t, m, 7)
	require.Equal(t, config.Modify, c.Permissions[3].Then)
	require.Equal(t, config.Rewrite{Set: "subject", To: config.Constant(`"(no subject)"`)}, m[0])
	require.Equal(t, config.Rewrite{Redact: "body", Text: "confidential"}, m[2], "what stands in its place is nothing")
	require.Equal(t, config.Rewrite{Clamp: "copies", Min: "0", Max: "1.50"}, m[4], "numbers keep their digits")

	require.Len(t, c.Tests, 2)
	x := c.Tests[0]
	require.JSONEq(t, `{"to":"eve@evil.test","body":"hi","n":1.50}`, string(x.Call.Args))
	require.Equal(t, time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC), x.At)
	require.Equal(t, "trusted", x.History[0].Trust)
	require.Equal(t, config.Position{File: c.File, Line: 51, Column: 5}, x.Pos)
	require.JSONEq(t, `{"a":[1,null]}`, string(c.Tests[1].Args))

	require.Equal(t, []string{filepath.Join(dir, "workspace")}, c.Guard.Roots)
	require.Equal(t, []string{"**/*.pem", "**/id_*", filepath.ToSlash(dir) + "/drafts/*.txt", "/etc/passwd"}, c.Guard.ForbidPaths)
	require.Equal(t, []string{"wiki.internal", "10.0.0.7"}, c.Guard.AllowHosts)
	require.Equal(t, config.Judge{Threshold: 30, AskBelow: 50, Habits: "off"}, c.Judge)
	require.Equal(t, config.Model{Name: "strong", Model: "strong", BaseURL: "http://127.0.0.1:11434/v1", Timeout: time.Minute,
		Tools: true, JSONSchema: true, MaxResponse: 8 << 20, Concurrency: 64, RequestsPerMinute: 90}, c.Models["strong"])
	require.Equal(t, config.Sentinel{Mode: config.Off, Timeout: 45 * time.Second,
		Modes: config.Modes{
			Effect: map[string]config.Mode{"read": config.Off},
			Skill:  map[string]config.Mode{"email.send": config.Enforce, "agent.dispatch": config.Shadow},
		},
		Answer: config.AnswerGraded, RejectBelow: 60, Arguments: config.ArgumentsKeys, Reasoning: true, Trace: 5, Concurrency: 12,
		Doubts: "review", Profile: config.Strict, Evidence: "records",
		Escalate:  config.Escalate{To: []string{"strong"}, Rejected: []string{"read", "create"}, Approved: []string{"irreversible"}},
		CacheSize: 77, Budget: config.ReviewBudget{Conversation: config.ReviewShare{Calls: 90}, User: config.ReviewShare{Tokens: 100000}},
		Breaker: config.Breaker{Failures: 4, Window: 90 * time.Second, OpenFor: time.Minute},
		Unavailable: config.Fallback{Read: config.Ask, Create: config.Allow, Modify: config.Ask, Irreversible: config.Ask,
			CostsMoney: config.Ask, Outward: config.Deny},
		Unjudgeable: config.Fallback{Read: config.Defer, Create: config.Ask, Modify: config.Ask, Irreversible: config.Ask,
			CostsMoney: config.Ask, Outward: config.Ask},
	}, c.Sentinel)
	require.Equal(t, config.Limits{Agent: config.AgentLimits{Calls: 6, Tokens: 20000}, Turn: config.TurnLimits{Agents: 9, Calls: 31},
		Conversation: config.ConversationLimits{Calls: 51, Window: 6 * time.Minute, Tokens: 1_000_000},
		User:         config.UserLimits{Conversations: 1000, Turns: 4, Agents: 128, Waiting: 128},
		Process:      config.ProcessLimits{Conversations: 10_000, Turns: 64, Agents: 1024, Waiting: 1024, Wait: 15 * time.Second},
		Skill:        config.SkillLimits{Failures: 4, Window: 61 * time.Second, OpenFor: 31 * time.Second, Concurrency: 64},
		Store: config.LimitStore{Driver: config.LimitsOnRedis, URL: config.NewSecret("rediss://:none@redis.internal:6380/2"),
			Timeout: 150 * time.Millisecond, Prefix: "staging",
			WhenAway: config.Fallback{Read: config.Allow, Create: config.Ask, Modify: config.Deny, Irreversible: config.Deny,
				CostsMoney: config.Deny, Outward: config.Allow}},
	}, c.Limits)
	require.Equal(t, 10*time.Minute, c.Approvals.Timeout)
	require.Equal(t, config.Ledger{Driver: "sqlite", Path: filepath.Join(dir, "state", "vedette.db"), Values: config.ValuesHMAC}, c.Ledger)
	require.Equal(t, filepath.Join(dir, "state", "vedette-keys"), c.Keys.Dir)
	require.Equal(t, 24*time.Hour, c.Journal.Retention)
	require.Equal(t, []string{"example.com", "*.Example.org"}, c.Answers.Links.Allow)
	require.Equal(t, "127.0.0.1:9000", c.Server.Listen)
	require.Len(t, c.Files, 5)
	require.Equal(t, filepath.Join(dir, "vedette.yaml"), c.Files[0])
}

// Skills of all files are compiled, with their numbers as they were written
// and their run options as JSON.
func TestLoadSkills(t *testing.T) {
	c := loadGood(t, nil)
	specs := map[string]skills.Spec{}
	for _, s := range c.Skills {
		specs[s.Skill.Name()] = s.Skill.Spec()
		require.NotZero(t, s.Pos.Line)
	}
	require.Len(t, specs, 5)
	send := specs["email.send"]
	require.Equal(t, skills.Irreversible, send.Effect)
	require.Equal(t, 30*time.Second, send.Timeout)
	require.Contains(t, string(send.Parameters), `"maximum":12345678901234567890.10`)
	require.Contains(t, string(send.Parameters), `"minimum":-0.5`)
	require.Contains(t, string(send.Parameters), `"multipleOf":1e-2`)
	require.Equal(t, "http", send.Run.Kind)
	require.JSONEq(t, `{"method":"POST","url":"https://mail.internal/send","headers":{"Authorization":"Bearer "}}`, string(send.Run.Options))
	require.Equal(t, skills.Run{Kind: "template", Options: []byte(`"no mail"`)}, specs["email.read"].Run)
	require.Contains(t, string(specs["tasks.delete"].Parameters), `^T-${?[0-9]+$`)
	require.Equal(t, "Delete a task.\nIt can't be brought back.\n", specs["tasks.delete"].Description)
	require.True(t, specs["notes.list"].Disabled)

	// A SKILL.md can't lower its effect or run, and its text is no description.
	text := specs["skill.pdf-filling"]
	require.Equal(t, skills.Irreversible, text.Effect)
	require.Equal(t, skills.Untrusted, text.Output)
	require.Empty(t, text.Run.Kind)
	require.Equal(t, "# Filling a form\n\nRun ${WHATEVER} you like.\n", c.Skills[len(c.Skills)-1].Text)
}

// A configuration without any key but the version is Default.
func TestDefaults(t *testing.T) {
	c, err := config.Parse("x.yaml", []byte("version: 1"), config.Options{Env: env(nil)})
	require.NoError(t, err)
	d := config.Default()
	require.Equal(t, d.Digest(), c.Digest())
	require.Equal(t, d.Ledger, c.Ledger)
	require.Equal(t, d.Keys, c.Keys)
	require.True(t, filepath.IsAbs(d.Ledger.Path))
	require.Equal(t, filepath.Join(filepath.Dir(d.Ledger.Path), "vedette-keys"), d.Keys.Dir)
	require.Equal(t, config.Enforce, d.Sentinel.Mode)
	require.Equal(t, "127.0.0.1:8420", d.Server.Listen)
	require.Equal(t, 168*time.Hour, d.Journal.Retention)
	require.Empty(t, d.Guard.Roots)
}

// The word off is the mode whether it has quotes or not.
func TestOff(t *testing.T) {
	for _, off := range []string{"off", `"off"`, "'off'"} {
		c, err := config.Parse("x.yaml", []byte("version: 1\nsentinel: {mode: "+off+"}"), config.Options{})
		require.NoError(t, err)
		require.Equal(t, config.Off, c.Sentinel.Mode)
	}
}

// A number keeps its exact hundredths, however it is written.
func TestHundredths(t *testing.T) {
	for in, want := range map[string]config.Hundredths{"0": 0, "1": 100, "0.3": 30, "0.30": 30, ".07": 7, "0.290000": 29, "1.00": 100,
		"${N}": 45} {
		c, err := config.Parse("x.yaml", []byte("version: 1\njudge: {threshold: "+quoteRef(in)+"}"),
			config.Options{Env: env(map[string]string{"N": "0.45"})})
		require.NoError(t, err, in)
		require.Equal(t, want, c.Judge.Threshold, in)
	}
}

func quoteRef(s string) string {
	if strings.Contains(s, "$") {
		return `"` + s + `"`
	}
	return s
}

// A number in a skill's options reaches JSON with the value and the digits that
// were written. What only looks like a number stays text.
func TestJSONScalars(t *testing.T) {
	for in, want := range map[string]string{
		"1": "1", "-0": "-0", "+7": "7", "1.10": "1.10", ".5": "0.5", "-.5": "-0.5", "5.": "5", "1e3": "1e3", "1E-2": "1E-2", "0x1F": "31",
		"0o17":                           "15",
		"123456789012345678901234567890": "123456789012345678901234567890", "0.1000": "0.1000",
		"true": "true", "FALSE": "false", "null": "null", "~": "null", "yes": `"yes"`, "off": `"off"`, "1_000": `"1_000"`,
		"12:30": `"12:30"`, "2026-01-01": `"2026-01-01"`,
		"0b1": `"0b1"`, "'1'": `"1"`, `"true"`: `"true"`, "1.2.3": `"1.2.3"`, ".": `"."`, "<&>": `"<&>"`, `"${N}"`: `"42"`, "é": `"é"`,
	} {
		src := "version: 1\nskills: {include: [s.yaml]}"
		skill := "name: a.b\neffect: read\nrun:\n  http:\n    v: " + in
		c, err := config.Parse("x.yaml", []byte(src),
			config.Options{FS: fstest.MapFS{"s.yaml": {Data: []byte(skill)}}, Env: env(map[string]string{"N": "42"})})
		require.NoError(t, err, in)
		got := c.Skills[0].Skill.Spec().Run.Options
		if strings.HasPrefix(want, `"`) {
			require.JSONEq(t, `{"v":`+want+`}`, string(got), in)
			continue
		}
		require.Equal(t, `{"v":`+want+`}`, string(got), in)
	}
	for _, in := range []string{"007", "-01", "00.5", "1e999", ".nan", "-.inf"} {
		_, err := config.Parse("x.yaml", []byte("version: 1\nskills: {include: [s.yaml]}"), config.Options{FS: fstest.MapFS{
			"s.yaml": {Data: []byte("name: a.b\neffect: read\nrun:\n  http:\n    v: " + in)}}})
		require.ErrorContains(t, err, "s.yaml:5:8: skills[a.b].run.http.v holds", in)
	}
}

// References are replaced in values, by text or by what the key asks for, and
// never make structure.
func TestEnvironment(t *testing.T) {
	vars := map[string]string{"A": "alpha", "EMPTY": "", "N": "7", "EVIL": "x\", api_key: \"y", "B": "true"}
	tests := []struct{ in, want string }{
		{`"${A}"`, "alpha"}, {`"<${A}-${A}>"`, "<alpha-alpha>"}, {`"${NONE:-d}"`, "d"}, {`"${EMPTY:-d}"`, "d"},
		{`"${EMPTY}x"`, "x"}, {`"$${A}"`, "${A}"}, {`"$A $"`, "$A $"}, {`"${NONE:-}x"`, "x"}, {`"${EVIL}"`, vars["EVIL"]},
		{`"${NONE:-a:-b}"`, "a:-b"}, {`pre-${A}`, "pre-alpha"},
	}
	for _, tt := range tests {
		c, err := config.Parse("x.yaml", []byte("version: 1\nmodels: \n  m:\n    base_url: u\n    model: "+tt.in), config.Options{Env: env(vars)})
		require.NoError(t, err, tt.in)
		require.Equal(t, tt.want, c.Models["m"].Model)
	}
	c, err := config.Parse("x.yaml",
		[]byte(`{version: "${ONE:-1}", limits: {agent: {calls: "${N}"}}, models: {m: {model: m, base_url: u, reasoning: "${B}", timeout: `+
			`"${N}s"}}}`),
		config.Options{Env: env(map[string]string{"N": "7", "B": "true", "ONE": "1"})})
	require.NoError(t, err)
	require.Equal(t, 7, c.Limits.Agent.Calls)
	require.True(t, c.Models["m"].Reasoning)
	require.Equal(t, 7*time.Second, c.Models["m"].Timeout)

	_, err = config.Parse("x.yaml", []byte("version: 1\nserver: {\"${A}\": x}"), config.Options{Env: env(vars)})
	require.EqualError(t, err, `x.yaml:2:10: unknown key "${A}"`)
}

// Aliases stand for their value; a bomb of them is refused at once.
func TestAliases(t *testing.T) {
	c, err := config.Parse("x.yaml", []byte("version: 1\nmodels: {a: &m {model: m, base_url: u}, b: *m}\n"), config.Options{})
	require.NoError(t, err)
	require.Equal(t, c.Models["a"].Model, c.Models["b"].Model)

	bomb := "version: 1\nx0: &x0 [a, a]\n"
	for i := 1; i < 40; i++ {
		bomb += fmt.Sprintf("x%d: &x%d [*x%d, *x%d]\n", i, i, i-1, i-1)
	}
	_, err = config.Parse("x.yaml", []byte(bomb), config.Options{})
	require.ErrorContains(t, err, "values with its aliases written out")
}

// An embedded configuration includes from its own file system and from nothing else.
func TestParseIncludes(t *testing.T) {
	fsys := fstest.MapFS{
		"demo/skills/a.yaml":    {Data: []byte("include: [deep/*.yaml, ../../shared.yaml]\n")},
		"demo/skills/deep/b.md": {Data: []byte("---\nname: x\n---\n")},
		"demo/skills/deep/c.yaml": {Data: []byte(
			"skills: [{name: a.b, effect: read, run: {template: x}}]")},
		"shared.yaml": {Data: []byte("name: a.c\neffect: read\nrun: {template: x}")},
	}
	c, err := config.Parse("demo/vedette.yaml", []byte("version: 1\nskills: {include: ['**/*.yaml']}"),
		config.Options{FS: fsys, Dir: t.TempDir()})
	require.NoError(t, err)
	require.Len(t, c.Skills, 2)
	require.Equal(t, config.Position{File: "demo/skills/deep/c.yaml", Line: 1, Column: 10}, c.Skills[0].Pos)
	require.Empty(t, c.Files)

	for pattern, want := range map[string]string{
		"../../x.yaml": "it leads out of the file system that the configuration is in",
		"/etc/*.yaml":  "it leads out of the file system that the configuration is in",
		"[":            "syntax error in pattern",
	} {
		_, err = config.Parse("demo/vedette.yaml", []byte("version: 1\nskills: {include: ['"+pattern+"']}"), config.Options{FS: fsys})
		require.EqualError(t, err, `demo/vedette.yaml:2:20: include "`+pattern+`": `+want)
	}
	_, err = config.Parse("x.yaml", []byte("version: 1\nskills: {include: [a.yaml]}"), config.Options{})
	require.EqualError(t, err, `x.yaml:2:20: include "a.yaml": there is no file system to include from`)
}

// Includes end: at a depth, at a number of files, at files that aren't files.
func TestIncludeLimits(t *testing.T) {
	files := map[string]string{"vedette.yaml": "version: 1\nskills: {include: [s0.yaml]}"}
	for i := range 70 {
		files[fmt.Sprintf("s%d.yaml", i)] = fmt.Sprintf("include: [s%d.yaml]", i+1)
	}
	_, dir, err := load(t, files, config.Options{})
	require.Equal(t, []string{`s63.yaml:1:11: include "s64.yaml": includes are more than 64 deep`}, mistakes(t, dir, err))

	files = map[string]string{"vedette.yaml": "version: 1\nskills: {include: ['s/*.yaml']}"}
	for i := range config.MaxFiles {
		files[fmt.Sprintf("s/%04d.yaml", i)] = "skills: []"
	}
	_, dir, err = load(t, files, config.Options{})
	require.Equal(t, []string{`vedette.yaml:2:20: include "s/*.yaml": more than 1000 files are included`}, mistakes(t, dir, err))

	_, err = config.Load(filepath.Join(dir, "none.yaml"), config.Options{})
	require.EqualError(t, err, filepath.Join(dir, "none.yaml")+": the file does not exist")
	_, err = config.Load(dir, config.Options{})
	require.EqualError(t, err, dir+": the file can't be read: is not a regular file")
}

// A root is where its links lead: one that leads to the database is refused.
func TestRootsAreRealPaths(t *testing.T) {
	dir := write(t,
		map[string]string{"conf/vedette.yaml": "version: 1\nguard: {roots: [../link]}\nledger: {path: ../state/v.db}\nkeys: {dir: ../keys}\n",
			"state/x": ""})
	require.NoError(t, os.Symlink(filepath.Join(dir, "state"), filepath.Join(dir, "link")))
	_, err := config.Load(filepath.Join(dir, "conf", "vedette.yaml"), config.Options{})
	require.ErrorContains(t, err, "vedette.yaml:2:17: guard.roots[0] contains the database ("+filepath.Join(dir, "state", "v.db")+")")

	require.NoError(t, os.Remove(filepath.Join(dir, "link")))
	c, err := config.Load(filepath.Join(dir, "conf", "vedette.yaml"), config.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "link")}, c.Guard.Roots)

	_, err = config.Load(filepath.Join(dir, "conf", "vedette.yaml"), config.Options{Protect: []string{filepath.Join(dir, "link", "bin")}})
	require.ErrorContains(t, err, "contains a protected path")
	exe, err := os.Executable()
	require.NoError(t, err)
	_, err = config.Parse("x.yaml", fmt.Appendf(nil, "version: 1\nguard: {roots: [%q]}", filepath.Dir(exe)), config.Options{Dir: dir})
	require.ErrorContains(t, err, "contains the program")
}

// A link in a root that leads out to the configuration is in the root. So is a
// folder where an include would find what a skill writes.
func TestRootsCantMakeSkills(t *testing.T) {
	dir := write(t,
		map[string]string{"conf/real.yaml": "version: 1\nguard: {roots: [../room]}\nledger: {path: ../state/v.db}\nskills: {include: " +
			"['../room/none/../../conf/s.yaml']}\n",
			"conf/s.yaml": skillYAML, "room/x": ""})
	_, err := config.Load(filepath.Join(dir, "conf", "real.yaml"), config.Options{})
	require.NoError(t, err)
	link := filepath.Join(dir, "room", "vedette.yaml")
	require.NoError(t, os.Symlink(filepath.Join(dir, "conf", "real.yaml"), link))
	_, err = config.Load(link, config.Options{})
	require.ErrorContains(t, err, "guard.roots[0] contains")
	// The link may also be a folder on the way.
	require.NoError(t, os.Symlink(filepath.Join(dir, "conf"), filepath.Join(dir, "room", "conf")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "conf", "two.yaml"),
		fmt.Appendf(nil, "version: 1\nguard: {roots: [%q]}\nledger: {path: %q}", filepath.Join(dir, "room"),
			filepath.Join(dir, "state", "v.db")), 0o600))
	_, err = config.Load(filepath.Join(dir, "conf", "two.yaml"), config.Options{})
	require.NoError(t, err)
	_, err = config.Load(filepath.Join(dir, "room", "conf", "two.yaml"), config.Options{})
	require.ErrorContains(t, err, "guard.roots[0] contains the configuration")

	for pattern, bad := range map[string]bool{
		"**/*.yaml": true, "skills/**/*.yaml": false, "*/*/s.yaml": true, "w*/*.yaml": false, "w*/*/*.yaml": true, "skills/*.yaml": false,
		"{skills,work}/**": true, "*/s.yaml": false, "../**/s.yaml": true,
	} {
		_, _, err := load(t, map[string]string{
			"vedette.yaml": "version: 1\nskills: {include: ['" + pattern + "']}\nguard: {roots: [work/agents]}\n", "skills/s.yaml": skillYAML,
			"skills/x/s.yaml": skillYAML,
		}, config.Options{})
		if bad {
			require.ErrorContains(t, err, "vedette.yaml:3:17: guard.roots[0] is a folder where the include \""+pattern+"\" looks for skills",
				pattern)
		} else {
			require.NotContains(t, fmt.Sprint(err), "guard.roots", pattern)
		}
	}
}

// Rules may name skills that are registered elsewhere, if they are said to be.
func TestKnownSkills(t *testing.T) {
	src := []byte("version: 1\npermissions: [{skill: crm.*, then: ask}, {skill: crm.find, then: deny}, {skill: agent.extend, then: deny}]")
	_, err := config.Parse("x.yaml", src, config.Options{KnownSkills: []string{"crm.find"}})
	require.NoError(t, err)
	_, err = config.Parse("x.yaml", src, config.Options{})
	require.Len(t, mistakes(t, "", err), 2)
}

// A SKILL.md can't read the environment: models see its description.
func TestSkillTextHasNoEnvironment(t *testing.T) {
	c, _, err := load(t, map[string]string{"vedette.yaml": "version: 1\nskills: {include: [SKILL.md]}",
		"SKILL.md": "---\nname: x\ndescription: ${KEY} ${NONE}\n---\n"},
		config.Options{Env: env(map[string]string{"KEY": "canary"})})
	require.NoError(t, err)
	require.Equal(t, "${KEY} ${NONE}", c.Skills[0].Skill.Spec().Description)
}

// What a SKILL.md may not say is refused where it stands.
func TestSkillText(t *testing.T) {
	for text, want := range map[string]string{
		"# no front matter": "SKILL.md:1:1: a SKILL.md starts with front matter: name and description between two " +
			"lines of ---",
		"---\nname: x\n": "SKILL.md:1:1: a SKILL.md starts with front matter: name and description between two " +
			"lines of ---",
		"---\nname: x\nrun: {exec: {}}\n---\n": "SKILL.md:3:1: a SKILL.md can't say how it runs; declare a skill with run in a YAML file",
		"---\ndescription: x\n---\n":           "SKILL.md:2:1: name is missing",
		"---\nname: [x]\n---\n":                "SKILL.md:2:1: name must be text",
		"---\nname: Big Name\n---\n": "SKILL.md:2:7: skills[skill.Big Name].name: must be domain.action in lower-case letters, " +
			"digits, _ and -, each part starting with a letter",
		"---\n- x\n---\n": "SKILL.md:2:1: the front matter must be a mapping with name and description",
		"---\nname: x\nparameters: {typ: x}\n---\n": `SKILL.md:3:1: skills[skill.x].parameters: must be the schema of an object: say "type": ` +
			`"object"`,
	} {
		_, dir, err := load(t, map[string]string{"vedette.yaml": "version: 1\nskills: {include: [SKILL.md]}", "SKILL.md": text}, config.Options{})
		require.Equal(t, []string{want}, mistakes(t, dir, err))
	}
}
