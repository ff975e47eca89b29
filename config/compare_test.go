package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

const compareSkills = `skills:
  - {name: email.send, effect: irreversible, parameters: {type: object, properties: {to: {type: string}}}, run: {template: ok}}
  - {name: email.read, effect: read, parameters: {type: object}, run: {template: ok}}
  - {name: tasks.add, effect: create, parameters: {type: object}, run: {template: ok}}
`

// loadPair loads a configuration as it was and as it is, from one file, with skills beside it.
func loadPair(t *testing.T, was, is string, skillsNow string) (a, b *config.Config) {
	t.Helper()
	dir := t.TempDir()
	file, skillFile := filepath.Join(dir, "vedette.yaml"), filepath.Join(dir, "skills.yaml")
	load := func(text, skillText string) *config.Config {
		require.NoError(t, os.WriteFile(skillFile, []byte(skillText), 0o600))
		require.NoError(t, os.WriteFile(file, []byte("version: 1\nskills: {include: [skills.yaml]}\n"+text+"\n"), 0o600))
		c, err := config.Load(file, config.Options{Env: func(string) (string, bool) { return "", false }})
		require.NoError(t, err)
		return c
	}
	return load(was, compareSkills), load(is, skillsNow)
}

// worst is the most serious kind among changes: neutral, tightens, loosens, needs_restart.
func worst(list []config.Change) config.ChangeKind {
	order := []config.ChangeKind{config.Neutral, config.Tightens, config.Loosens, config.NeedsRestart}
	at := 0
	for _, c := range list {
		for i, k := range order {
			if c.Kind == k {
				at = max(at, i)
			}
		}
	}
	return order[at]
}

// What is equal is equal, what is known to let less through tightens, and everything else doesn't.
func TestCompare(t *testing.T) {
	perms := func(rules ...string) string { return "permissions: [" + strings.Join(rules, ", ") + "]" }
	const deny = "permissions_default: deny\n"
	who := func(rules string) string {
		if rules == "" {
			return "approvals: {inbox: true}"
		}
		return "approvals: {inbox: true, who: [" + rules + "]}"
	}
	ask, askTo := "{skill: email.send, then: ask}", "{skill: email.send, then: ask, when: \"args.to == 'a'\"}"
	for name, tc := range map[string]struct {
		was, is string
		want    config.ChangeKind
	}{
		"nothing":                       {"", "", config.Neutral},
		"a comment":                     {"", "# one", config.Neutral},
		"a default that is written out": {"", "permissions_default: allow", config.Neutral},
		"a prompt":                      {"orchestrator: {prompt: a}", "orchestrator: {prompt: b}", config.Neutral},
		"tests":                         {"", "tests: [{name: a, call: {skill: email.read}, expect: allow}]", config.Neutral},
		"a rule's reason":               {perms(ask), perms("{skill: email.send, then: ask, reason: because}"), config.Neutral},
		"a rule's id":                   {perms(ask), perms("{id: mail, skill: email.send, then: ask}"), config.Neutral},
		"rules in another order": {perms(ask, "{skill: email.read, then: deny}"),
			perms("{skill: email.read, then: deny}", ask), config.Neutral},
		"a rule that denies":           {"", perms("{skill: email.send, then: deny}"), config.Tightens},
		"a rule that asks":             {"", perms(ask), config.Tightens},
		"a rule that allows":           {"", perms("{skill: email.send, then: allow}"), config.Tightens},
		"ask to deny":                  {perms(ask), perms("{skill: email.send, then: deny}"), config.Tightens},
		"a condition less":             {perms(askTo), perms(ask), config.Loosens}, // the condition could break, which denies
		"a condition less, and denied": {perms(askTo), perms("{skill: email.send, then: deny}"), config.Tightens},
		"a wider skill":                {perms(ask), perms("{skill: 'email.*', then: ask}"), config.Tightens},
		"every skill":                  {perms(ask), perms("{skill: '*', then: ask}"), config.Tightens},
		"a narrower skill":             {perms("{skill: 'email.*', then: ask}"), perms(ask), config.Loosens},
		"more users": {perms("{skill: email.send, users: [ann], then: deny}"),
			perms("{skill: email.send, users: [ann, bob], then: deny}"), config.Tightens},
		"all users": {perms("{skill: email.send, users: [ann], then: deny}"),
			perms("{skill: email.send, then: deny}"), config.Tightens},
		"fewer users": {perms("{skill: email.send, then: deny}"),
			perms("{skill: email.send, users: [ann], then: deny}"), config.Loosens},
		"other users": {perms("{skill: email.send, users: [ann], then: deny}"),
			perms("{skill: email.send, users: [bob], then: deny}"), config.Loosens},
		"deny to ask":                    {perms("{skill: email.send, then: deny}"), perms(ask), config.Loosens},
		"ask to allow":                   {perms(ask), perms("{skill: email.send, then: allow}"), config.Loosens},
		"a rule less":                    {perms(ask), "", config.Loosens},
		"a rule with a condition more":   {perms(ask), perms(askTo), config.Loosens},
		"a rule that allowed less":       {perms("{skill: email.send, then: allow}"), "", config.Neutral},
		"a condition that allowed less":  {perms("{skill: email.send, then: allow, when: \"args.to == 'a'\"}"), "", config.Loosens},
		"a rewrite":                      {"", perms("{skill: email.send, then: modify, modify: [{remove: to}]}"), config.Loosens},
		"a rewrite less":                 {perms("{skill: email.send, then: modify, modify: [{remove: to}]}"), "", config.Loosens},
		"default to deny":                {"", deny, config.Tightens},
		"default to deny, and allow one": {"", deny + perms("{skill: email.read, then: allow}"), config.Tightens},
		"default to allow":               {deny, "", config.Loosens},
		"allow below deny":               {deny, deny + perms("{skill: email.read, then: allow}"), config.Loosens},
		"ask below deny":                 {deny, deny + perms(ask), config.Loosens},
		"deny below deny":                {deny, deny + perms("{skill: email.send, then: deny}"), config.Tightens},
		"allow to ask below deny":        {deny + perms("{skill: email.send, then: allow}"), deny + perms(ask), config.Tightens},
		"narrower allow below deny": {deny + perms("{skill: 'email.*', then: allow}"),
			deny + perms("{skill: email.read, then: allow}"), config.Tightens},
		"wider allow below deny": {deny + perms("{skill: email.read, then: allow}"),
			deny + perms("{skill: 'email.*', then: allow}"), config.Loosens},
		"ask less below deny": {deny + perms("{skill: '*', then: allow}", ask),
			deny + perms("{skill: '*', then: allow}"), config.Loosens},
		"forbidden paths more": {"", "guard: {forbid_paths: ['**/*.pem']}", config.Tightens},
		"forbidden paths less": {"guard: {forbid_paths: ['**/*.pem', '**/*.key']}",
			"guard: {forbid_paths: ['**/*.pem']}", config.Loosens},
		"a higher threshold":        {"judge: {threshold: 0.30}", "judge: {threshold: 0.40}", config.Tightens},
		"a lower threshold":         {"judge: {threshold: 0.30}", "judge: {threshold: 0.20}", config.Loosens},
		"asked more":                {"judge: {ask_below: 0.50}", "judge: {ask_below: 0.60}", config.Tightens},
		"asked less":                {"judge: {ask_below: 0.50}", "judge: {ask_below: 0.40}", config.Loosens},
		"fewer own domains":         {"judge: {own_domains: [a.example, b.example]}", "judge: {own_domains: [a.example]}", config.Tightens},
		"more own domains":          {"judge: {own_domains: [a.example]}", "judge: {own_domains: [a.example, b.example]}", config.Loosens},
		"a shorter time to answer":  {"approvals: {timeout: 5m}", "approvals: {timeout: 1m}", config.Tightens},
		"a longer time to answer":   {"approvals: {timeout: 5m}", "approvals: {timeout: 6m}", config.NeedsRestart},
		"fewer may wait":            {"approvals: {pending: {user: 5}}", "approvals: {pending: {user: 4}}", config.Tightens},
		"more may wait":             {"approvals: {pending: {conversation: 5}}", "approvals: {pending: {conversation: 6}}", config.Loosens},
		"loosening is turned off":   {"reload: {allow_loosening: true}", "", config.Tightens},
		"loosening is turned on":    {"", "reload: {allow_loosening: true}", config.Loosens},
		"the database":              {"", "ledger: {path: other.db}", config.NeedsRestart},
		"the values on record":      {"", "ledger: {values: full}", config.NeedsRestart},
		"the address":               {"", "server: {listen: '127.0.0.1:9'}", config.NeedsRestart},
		"the keys":                  {"", "keys: {dir: other}", config.NeedsRestart},
		"a root":                    {"", "guard: {roots: [root]}", config.NeedsRestart},
		"a host":                    {"", "guard: {allow_hosts: [10.0.0.1]}", config.NeedsRestart},
		"a model":                   {"", "models: {m: {model: m, base_url: 'http://127.0.0.1:1'}}", config.NeedsRestart},
		"the review":                {"", `sentinel: {mode: "off"}`, config.NeedsRestart},
		"fewer calls of an agent":   {"", "limits: {agent: {calls: 3}}", config.Tightens},
		"the agents' default bound": {"", "limits: {agent: {calls: 5}}", config.Tightens},
		"more without a number":     {"", "limits: {agent: {calls: 7}}", config.Loosens},
		"agents bound no more":      {"limits: {agent: {calls: 7}}", "", config.Loosens},
		"more calls of a turn":      {"", "limits: {turn: {calls: 31}}", config.Loosens},
		"fewer agents":              {"", "limits: {turn: {agents: 2}}", config.Tightens},
		"fewer and more calls":      {"", "limits: {turn: {agents: 2}, conversation: {calls: 51}}", config.Loosens},
		"a longer window":           {"", "limits: {conversation: {window: 10m}}", config.NeedsRestart},
		"a budget":                  {"", "limits: {turn: {tokens: 1000}}", config.NeedsRestart},
		"a breaker":                 {"", "limits: {skill: {failures: 2}}", config.NeedsRestart},
		"who may answer":            {who(""), who("{skill: email.send, min: 2}"), config.Tightens},
		"all may answer again":      {who("{skill: email.send, min: 2}"), who(""), config.Loosens},
		"an approver less":          {who("{approvers: [ann, bob]}"), who("{approvers: [ann]}"), config.Tightens},
		"an approver more":          {who("{approvers: [ann]}"), who("{approvers: [ann, bob]}"), config.Loosens},
		"another approver":          {who("{approvers: [ann]}"), who("{approvers: [bob]}"), config.Loosens},
		"nobody is named any more":  {who("{approvers: [ann]}"), who("{min: 1}"), config.Loosens},
		"fewer suffice":             {who("{min: 2}"), who("{min: 1}"), config.Loosens},
		"a quorum for fewer calls":  {who("{min: 2}"), who("{min: 2, effect: modify}"), config.Loosens},
		"a quorum for more calls":   {who("{min: 2, effect: modify}"), who("{min: 2}"), config.Tightens},
		"a quorum for some skills":  {who("{skill: 'email.*', min: 2}"), who("{skill: email.send, min: 2}"), config.Loosens},
		"a quorum for some users":   {who("{min: 2}"), who("{users: [ann], min: 2}"), config.Loosens},
		"requesters may again":      {who("{exclude_requester: true, min: 2}"), who("{min: 2}"), config.Loosens},
		"requesters may not":        {who("{min: 2}"), who("{exclude_requester: true, min: 2}"), config.Tightens},
		"a rule split in two": {who("{approvers: [ann, bob], min: 2}"),
			who("{approvers: [ann, bob]}, {min: 2}"), config.Loosens}, // they say the same, which isn't looked for
		"the inbox":                       {"", "approvals: {inbox: true}", config.NeedsRestart},
		"an assistant":                    {"", "assistants: {a: {prompt: b}}", config.NeedsRestart},
		"habits":                          {"", "judge: {habits: \"on\"}", config.NeedsRestart},
		"a tightening beside a loosening": {perms(ask), "judge: {threshold: 0.40}", config.Loosens},
	} {
		t.Run(name, func(t *testing.T) {
			was, is := loadPair(t, tc.was, tc.is, compareSkills)
			list := config.Compare(was, is)
			require.Equal(t, tc.want, worst(list), "%v", list)
			require.Empty(t, config.Compare(is, is))
			if was.Digest() != is.Digest() {
				require.NotEmpty(t, list, "what can change a decision is a change")
			}
		})
	}
}

// Skills are compared by their whole declaration, and rules about one that is gone go with it.
func TestCompareSkills(t *testing.T) {
	without := strings.Replace(compareSkills,
		"  - {name: tasks.add, effect: create, parameters: {type: object}, run: {template: ok}}\n", "", 1)
	for name, tc := range map[string]struct {
		was, is, skills string
		want            config.ChangeKind
	}{
		"one less":               {"", "", without, config.Tightens},
		"one less, its rule too": {"permissions: [{skill: tasks.add, then: ask}]", "", without, config.Tightens},
		"one more": {"", "",
			compareSkills + "  - {name: a.b, effect: read, parameters: {type: object}, run: {template: ok}}\n", config.Loosens},
		"another effect": {"", "", strings.Replace(compareSkills, "effect: create", "effect: modify", 1), config.NeedsRestart},
		"another schema": {"", "", strings.Replace(compareSkills, "to: {type: string}", "to: {type: integer}", 1), config.NeedsRestart},
		"a comment":      {"", "", "# one\n" + compareSkills, config.Neutral},
	} {
		t.Run(name, func(t *testing.T) {
			was, is := loadPair(t, tc.was, tc.is, tc.skills)
			list := config.Compare(was, is)
			require.Equal(t, tc.want, worst(list), "%v", list)
		})
	}
}

// A change names its place: in the new file what is there, in the running one what is gone. No value
// of either is in it.
func TestCompareNamesPlaces(t *testing.T) {
	was, is := loadPair(t, "permissions:\n  - {skill: email.send, then: deny, when: \"args.to == 'CANARY'\"}\n",
		"judge: {threshold: 0.20}\nmodels:\n  m: {model: m, base_url: 'http://127.0.0.1:1', api_key: CANARY}\n", compareSkills)
	list := config.Compare(was, is)
	var said []string
	for _, c := range list {
		require.NotContains(t, c.String(), "CANARY")
		said = append(said, strings.TrimPrefix(c.String(), filepath.Dir(is.File)+"/"))
	}
	require.Equal(t, []string{
		"vedette.yaml:5:3: models.m can't be exchanged in a running process",
		"vedette.yaml:4:5: permissions[0] (deny rule-1) of the running configuration is gone, or says less now",
		"vedette.yaml:3:20: judge.threshold lets more through",
	}, said)
}
