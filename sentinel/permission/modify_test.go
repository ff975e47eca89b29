package permission_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/skills"
)

const paySchema = `{"type":"object","required":["to","amount"],"additionalProperties":false,"properties":{
	"to":{"type":"string","x-target":true},"cc":{"type":"array","items":{"type":"string","x-target":true}},
	"amount":{"type":"number","maximum":1000000},"copies":{"type":"integer"},"urgent":{"type":"boolean"},
	"note":{"type":"string","x-content":true},"extra":{"type":"object","x-content":true,"additionalProperties":true},
	"tags":{"type":"array","items":{"type":"string"}},"site":{"type":"string","x-url":true},"file":{"type":"string","x-path":true},
	"run":{"type":"string","x-shell":true},"any":{}}}`

func paySpec() skills.Spec {
	return skills.Spec{Name: "pay.send", Effect: skills.CostsMoney, Reaches: skills.Others, Parameters: json.RawMessage(paySchema)}
}

func plainSpec() skills.Spec {
	return skills.Spec{Name: "pay.plain", Effect: skills.CostsMoney, Parameters: json.RawMessage(
		`{"type":"object","properties":{"who":{"type":"string"},"n":{"type":"number"},"fast":{"type":"boolean"}}}`)}
}

// newRewriter is a gate with one rule of the rewrites, and its checkpoint.
func newRewriter(t testing.TB, rules ...permission.Rule) *sentinel.Checkpoint {
	t.Helper()
	reg := registry(t, paySpec(), plainSpec())
	g, err := permission.New(permission.Options{Rules: rules, Default: permission.DefaultAllow, Registry: reg})
	require.NoError(t, err)
	gs := []sentinel.Gate{g}
	for _, n := range []string{sentinel.GateSchema, sentinel.GateScope, sentinel.GateGuard, sentinel.GateJudge, sentinel.GateReview} {
		gs = append(gs, pass(n))
	}
	cp, err := sentinel.New(sentinel.Options{Registry: reg, Gates: gs, Env: touchEnv})
	require.NoError(t, err)
	return cp
}

// pass is a gate of another name that allows.
type pass string

func (p pass) Name() string { return string(p) }
func (p pass) Check(context.Context, sentinel.Call) (sentinel.Verdict, error) {
	return sentinel.Pass(), nil
}

func propose(t require.TestingT, cp *sentinel.Checkpoint, args string) sentinel.Call {
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g1", Conversation: "c1", Agent: "a1", User: "ada"})
	require.NoError(t, err)
	c, err := cp.NewCall(sentinel.Proposal{Skill: "pay.send", Args: []byte(args), Grant: g})
	require.NoError(t, err)
	return c
}

func rule(ops ...permission.Op) permission.Rule {
	return permission.Rule{ID: "r", Skill: "pay.*", Then: permission.Modify, Modify: ops}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// Each rewrite does what it says, leaves alone what it isn't about, and does
// nothing to its own result.
func TestRewrites(t *testing.T) {
	for _, tc := range []struct {
		name       string
		op         permission.Op
		args, want string
	}{
		{"set", permission.Op{Set: "urgent", To: raw("false")}, `{"urgent":true}`, `{"urgent":false}`},
		{"set what isn't there", permission.Op{Set: "urgent", To: raw("false")}, `{}`, `{"urgent":false}`},
		{"set a list", permission.Op{Set: "tags", To: raw(`["a", "b"]`)}, `{"tags":["c"]}`, `{"tags":["a","b"]}`},
		{"set a number written otherwise", permission.Op{Set: "amount", To: raw("1.0")}, `{"amount":1}`, `{"amount":1}`},
		{"clamp above", permission.Op{Clamp: "amount", Max: "100.50"}, `{"amount":100.51}`, `{"amount":100.5}`},
		{"clamp below", permission.Op{Clamp: "amount", Min: "0"}, `{"amount":-3}`, `{"amount":0}`},
		{"clamp between", permission.Op{Clamp: "amount", Min: "0", Max: "100"}, `{"amount":1e2}`, `{"amount":100}`},
		{"clamp what isn't there", permission.Op{Clamp: "amount", Max: "100"}, `{}`, `{}`},
		{"redact text", permission.Op{Redact: "note", Text: "secret", With: "[x]"}, `{"note":"a secret, secretly"}`, `{"note":"a [x], [x]ly"}`},
		{"redact to nothing", permission.Op{Redact: "note", Text: " secret"}, `{"note":"a secret"}`, `{"note":"a"}`},
		{"redact a pattern", permission.Op{Redact: "note", Pattern: `\b\d{16}\b`, With: "[card $1]"}, `{"note":"no 4111111111111111."}`,
			`{"note":"no [card $1]."}`},
		{"redact deep down", permission.Op{Redact: "extra", Text: "x", With: "y"}, `{"extra":{"x":["x",1,null,{"k":"axa"}]}}`,
			`{"extra":{"x":["y",1,null,{"k":"aya"}]}}`},
		{"redact nothing", permission.Op{Redact: "note", Text: "secret"}, `{"note":"plain"}`, `{"note":"plain"}`},
		{"append", permission.Op{Append: "note", Text: "\n-- bot"}, `{"note":"hi"}`, `{"note":"hi\n-- bot"}`},
		{"append what is there", permission.Op{Append: "note", Text: "\n-- bot"}, `{"note":"hi\n-- bot"}`, `{"note":"hi\n-- bot"}`},
		{"remove", permission.Op{Remove: "cc"}, `{"cc":["a@b.c"]}`, `{}`},
		{"remove a target", permission.Op{Remove: "site"}, `{"site":"https://x.y"}`, `{}`},
		{"narrow a target", permission.Op{Narrow: "cc", Keep: `@example\.com$`}, `{"cc":["a@b.c","x@example.com","y@example.com.evil"]}`,
			`{"cc":["x@example.com"]}`},
		{"narrow an empty list", permission.Op{Narrow: "cc", Keep: `x`}, `{"cc":[]}`, `{"cc":[]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cp := newRewriter(t, rule(tc.op))
			before := tc.args
			c := propose(t, cp, tc.args)
			got, failed := cp.Rewrite(t.Context(), c)
			require.Nil(t, failed)
			require.Equal(t, tc.want, got.Args())
			require.Equal(t, propose(t, cp, before).Args(), c.Args(), "the proposed call is as it was")
			require.Equal(t, propose(t, cp, before).Parsed(), c.Parsed())
			_, modified := got.Modified()
			require.Equal(t, c.Args() != got.Args(), modified)
			again, failed := cp.Rewrite(t.Context(), propose(t, cp, got.Args()))
			require.Nil(t, failed)
			require.Equal(t, got.Args(), again.Args())
			require.Equal(t, propose(t, cp, tc.want).Digest(), got.Digest(), "judged as if it had been proposed like that")
		})
	}
}

// A rewrite that can't be applied to its argument denies, and so does one without
// an end. No value is recorded.
func TestRewritesThatFail(t *testing.T) {
	for _, tc := range []struct {
		name       string
		rules      []permission.Rule
		args, code string
		reason     string
	}{
		{"clamp a text", []permission.Rule{rule(permission.Op{Clamp: "any", Max: "1"})}, `{"any":"CANARY"}`, sentinel.CodeModifyError,
			"rule r any: the argument is no number"},
		{"append to a number", []permission.Rule{rule(permission.Op{Append: "any", Text: "x"})}, `{"any":1}`, sentinel.CodeModifyError,
			"rule r any: the argument is no text"},
		{"narrow a text", []permission.Rule{rule(permission.Op{Narrow: "any", Keep: "x"})}, `{"any":"CANARY"}`, sentinel.CodeModifyError,
			"rule r any: the argument is no list of texts"},
		{"narrow to nothing", []permission.Rule{rule(permission.Op{Narrow: "cc", Keep: "^$"})}, `{"cc":["CANARY"]}`,
			sentinel.CodeModifyError, "rule r cc: nothing of the argument is left"},
		{"too long", []permission.Rule{rule(permission.Op{Redact: "note", Text: "x", With: strings.Repeat("y", 4000)})},
			`{"note":"CANARY` + strings.Repeat("x", 600) + `"}`,
			sentinel.CodeModifyError, "rule r note: the argument would become too long"},
		{"no call any more", []permission.Rule{rule(permission.Op{Append: "note", Text: "0123456789"})},
			`{"note":"CANARY` + strings.Repeat("x", sentinel.MaxArgs-20) + `"}`,
			sentinel.CodeModifyError, "rule r made arguments that are no call"},
		{"a condition that can't be evaluated", []permission.Rule{{ID: "r", Skill: "pay.*", When: "args.note == 'CANARY'",
			Then: permission.Modify, Modify: []permission.Op{{Remove: "cc"}}}},
			`{}`, sentinel.CodeModifyError, "rule r could not be evaluated"},
		{"two that contradict each other", []permission.Rule{
			{ID: "r", Skill: "pay.*", When: "args.urgent == false", Then: permission.Modify,
				Modify: []permission.Op{{Set: "urgent", To: raw("true")}}},
			{ID: "s", Skill: "pay.*", When: "args.urgent == true", Then: permission.Modify,
				Modify: []permission.Op{{Set: "urgent", To: raw("false")}}},
		}, `{"urgent":true}`, sentinel.CodeModifyUnstable, "the rules would rewrite their own result again (r)"},
		{"two texts at one end", []permission.Rule{rule(permission.Op{Append: "note", Text: "a"}),
			{ID: "s", Skill: "*", Then: permission.Modify, Modify: []permission.Op{{Append: "note", Text: "b"}}}},
			`{"note":"CANARY"}`, sentinel.CodeModifyUnstable, "(r, s)"},
		{"a redaction that makes what it looks for", []permission.Rule{rule(permission.Op{Redact: "note", Text: "ab"})}, `{"note":"aabb"}`,
			sentinel.CodeModifyUnstable, "(r)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cp := newRewriter(t, tc.rules...)
			d, err := cp.Decide(t.Context(), propose(t, cp, tc.args))
			require.NoError(t, err)
			require.Equal(t, sentinel.Deny, d.Outcome)
			require.Equal(t, sentinel.GatePermission, d.BlockedBy)
			require.Equal(t, tc.code, d.Code)
			require.Contains(t, d.Reason, tc.reason)
			v, _ := d.Verdict(sentinel.GatePermission)
			kept, err := json.Marshal([]any{v.Code, v.Reason, v.Evidence, v.Meta})
			require.NoError(t, err)
			require.NotContains(t, string(kept), "CANARY")
			require.Nil(t, d.Modified)
		})
	}
}

// A rewrite gives no permission: the other rules judge the rewritten call. Where
// the default is deny, the rewrite opens nothing.
func TestRewritesGiveNoPermission(t *testing.T) {
	cap := rule(permission.Op{Clamp: "amount", Max: "100"})
	cp := newRewriter(t, cap, permission.Rule{ID: "d", Skill: "pay.send", When: "args.amount == 100", Then: permission.Ask})
	d, err := cp.Decide(t.Context(), propose(t, cp, `{"amount":500}`))
	require.NoError(t, err)
	require.Equal(t, sentinel.Ask, d.Outcome, "the condition sees the rewritten call")
	require.Equal(t, []string{"r"}, d.Modified.Rules)

	g, err := permission.New(permission.Options{Rules: []permission.Rule{cap}, Default: permission.DefaultDeny,
		Registry: registry(t, paySpec())})
	require.NoError(t, err)
	v := check(t, g, propose(t, cp, `{"amount":5}`))
	require.Equal(t, permission.CodeNoMatch, v.Code)
	require.Empty(t, v.Evidence)
}

// Rules are applied in order, and their conditions see the call as proposed. Users
// and skills count. An argument that the skill doesn't know is left out.
func TestOrderOfRewrites(t *testing.T) {
	when := func(id, when string, ops ...permission.Op) permission.Rule {
		return permission.Rule{ID: id, Skill: "*", When: when, Then: permission.Modify, Modify: ops}
	}
	cp := newRewriter(t,
		when("a", "args.amount > 100", permission.Op{Clamp: "amount", Max: "100"}, permission.Op{Append: "note", Text: "!"}),
		when("b", "args.amount <= 100", permission.Op{Set: "urgent", To: raw("true")}),
		permission.Rule{ID: "c", Skill: "*", Users: []string{"bob"}, Then: permission.Modify, Modify: []permission.Op{{Remove: "note"}}},
	)
	_, failed := cp.Rewrite(t.Context(), propose(t, cp, `{"amount":500,"note":"hi"}`))
	require.NotNil(t, failed, "b fits what a makes: the rules don't agree on a result")
	require.Equal(t, sentinel.CodeModifyUnstable, failed.Code)
	got, failed := cp.Rewrite(t.Context(), propose(t, cp, `{"amount":5,"note":"hi"}`))
	require.Nil(t, failed)
	require.Equal(t, `{"amount":5,"note":"hi","urgent":true}`, got.Args())
	m, _ := got.Modified()
	require.Equal(t, []string{"b"}, m.Rules)
}

// What would replace a target, or could never fit, is a mistake in the rule.
func TestRewriteMistakes(t *testing.T) {
	for name, tc := range map[string]struct {
		op        permission.Op
		path, msg string
	}{
		"nothing": {permission.Op{}, "", "exactly one of set, clamp, redact, append, remove, narrow; it names 0"},
		"two":     {permission.Op{Set: "urgent", To: raw("true"), Remove: "cc"}, "", "it names 2"},
		"a key of another": {permission.Op{Remove: "cc", Keep: "x"}, ".keep",
			"means nothing beside remove, which takes nothing else"},
		"set without a value": {permission.Op{Set: "urgent"}, "", "set needs to"},
		"set to null":         {permission.Op{Set: "any", To: raw("null")}, ".to", "write remove"},
		"set to no JSON":      {permission.Op{Set: "any", To: raw("{")}, "", "set needs to"},
		"set a target": {permission.Op{Set: "to", To: raw(`"a@b.c"`)}, ".set",
			`"to" is a target of pay.send: it may be removed or narrowed, never replaced`},
		"set targets in a list":  {permission.Op{Set: "cc", To: raw(`[]`)}, ".set", "never replaced"},
		"set a URL":              {permission.Op{Set: "site", To: raw(`"https://x.y"`)}, ".set", "never replaced"},
		"append to a path":       {permission.Op{Append: "file", Text: "x"}, ".append", "never replaced"},
		"redact a command line":  {permission.Op{Redact: "run", Text: "x"}, ".redact", "never replaced"},
		"redact a target":        {permission.Op{Redact: "to", Text: "x"}, ".redact", "never replaced"},
		"set text without marks": {permission.Op{Set: "who", To: raw(`"x"`)}, ".set", "pay.plain has no x- marks"},
		"set of a wrong type": {permission.Op{Set: "urgent", To: raw(`"yes"`)}, ".set",
			`a value into "urgent" that the schema of pay.send refuses`},
		"clamp without bounds":         {permission.Op{Clamp: "amount"}, "", "min, max or both"},
		"clamp backwards":              {permission.Op{Clamp: "amount", Min: "2", Max: "1"}, ".min", "more than max"},
		"clamp by no number":           {permission.Op{Clamp: "amount", Max: "much"}, ".max", "no number"},
		"clamp by a hexadecimal":       {permission.Op{Clamp: "amount", Max: "0x10"}, ".max", "no number"},
		"clamp a text":                 {permission.Op{Clamp: "note", Max: "1"}, ".clamp", "is no number"},
		"clamp to what doesn't fit":    {permission.Op{Clamp: "copies", Max: "1.5"}, ".clamp", "schema of pay.send refuses"},
		"clamp beyond the schema":      {permission.Op{Clamp: "amount", Min: "2000000"}, ".clamp", "schema of pay.send refuses"},
		"redact nothing":               {permission.Op{Redact: "note"}, "", "text or pattern, and not both"},
		"redact both":                  {permission.Op{Redact: "note", Text: "x", Pattern: "y"}, "", "text or pattern, and not both"},
		"redact a number":              {permission.Op{Redact: "amount", Text: "x"}, ".redact", "holds no text"},
		"redact by a broken pattern":   {permission.Op{Redact: "note", Pattern: "("}, ".pattern", "no RE2 expression: missing closing )"},
		"redact by a pattern with \\1": {permission.Op{Redact: "note", Pattern: `(a)\1`}, ".pattern", "no RE2 expression"},
		"redact the empty text":        {permission.Op{Redact: "note", Pattern: "x*"}, ".pattern", "everywhere"},
		"redact with itself":           {permission.Op{Redact: "note", Text: "x", With: "xx"}, ".with", "never come to an end"},
		"redact with a match":          {permission.Op{Redact: "note", Pattern: "x+", With: "x"}, "", ""}, // "x" becomes "x": fine
		"redact with what matches":     {permission.Op{Redact: "note", Pattern: "x", With: "yx"}, ".with", "never come to an end"},
		"append nothing":               {permission.Op{Append: "note"}, "", "append needs text"},
		"append to a number":           {permission.Op{Append: "amount", Text: "x"}, ".append", "holds no text"},
		"remove what is required":      {permission.Op{Remove: "to"}, ".remove", `requires "to"`},
		"narrow a text":                {permission.Op{Narrow: "to", Keep: "x"}, ".narrow", "is no list"},
		"narrow by nothing":            {permission.Op{Narrow: "cc"}, ".keep", "needs keep"},
		"an argument that no skill has": {permission.Op{Remove: "ccc"}, ".remove",
			`no skill of this rule has an argument "ccc"; did you mean "cc"?`},
		"a huge text": {permission.Op{Append: "note", Text: strings.Repeat("x", 5000)}, "", "more than 4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := permission.New(permission.Options{Rules: []permission.Rule{rule(tc.op)}, Registry: registry(t, paySpec(), plainSpec())})
			if tc.msg == "" {
				require.NoError(t, err)
				return
			}
			var pe *skills.PathError
			require.ErrorAs(t, err, &pe)
			require.Equal(t, "permissions[0].modify[0]"+tc.path, pe.Path)
			require.Contains(t, pe.Msg, tc.msg)
		})
	}
	t.Run("of the rule", func(t *testing.T) {
		for _, tc := range []struct {
			rule permission.Rule
			path string
		}{
			{permission.Rule{Skill: "*", Then: permission.Modify}, "permissions[0]"},
			{permission.Rule{Skill: "*", Then: permission.Ask, Modify: []permission.Op{{Remove: "cc"}}}, "permissions[0].modify"},
			{rule(permission.Op{Append: "note", Text: "a"}, permission.Op{Append: "note", Text: "b"}), "permissions[0].modify[1].append"},
			{rule(make([]permission.Op, 33)...), "permissions[0].modify"},
		} {
			_, err := permission.New(permission.Options{Rules: []permission.Rule{tc.rule}, Registry: registry(t, paySpec(), plainSpec())})
			var pe *skills.PathError
			require.ErrorAs(t, err, &pe)
			require.Equal(t, tc.path, pe.Path)
		}
	})
	t.Run("numbers of a skill without marks may be set", func(t *testing.T) {
		_, err := permission.New(permission.Options{Registry: registry(t, plainSpec()), Rules: []permission.Rule{
			{Skill: "pay.plain", Then: permission.Modify,
				Modify: []permission.Op{{Set: "n", To: raw("1")}, {Set: "fast", To: raw("true")}, {Clamp: "n", Max: "1"}}}}})
		require.NoError(t, err)
	})
}

// someOps are rewrites of which any may stand together.
func someOps() []permission.Op {
	return []permission.Op{
		{Set: "urgent", To: raw("true")}, {Set: "urgent", To: raw("false")}, {Set: "tags", To: raw(`["x"]`)},
		{Clamp: "amount", Max: "10"}, {Clamp: "amount", Min: "20"}, {Clamp: "copies", Min: "1", Max: "3"},
		{Redact: "note", Text: "ab", With: ""}, {Redact: "note", Pattern: "[0-9]+", With: "#"}, {Redact: "extra", Text: "a", With: "b"},
		{Append: "note", Text: "!"}, {Append: "note", Text: "?"}, {Remove: "cc"}, {Remove: "note"}, {Narrow: "cc", Keep: "^a"},
		{Narrow: "tags", Keep: "x"},
	}
}

// Rewriting never raises an outcome above that of the rewritten arguments proposed
// directly. Targets are never replaced. The rules leave a result that isn't denied
// as it is.
func TestRewritingNeverRaisesAnOutcome(t *testing.T) {
	judging := []permission.Rule{
		{ID: "j1", Skill: "pay.send", When: "args.amount > 15", Then: permission.Ask},
		{ID: "j2", Skill: "pay.send", When: "has(args.note) && args.note.contains('#')", Then: permission.Deny},
		{ID: "j3", Skill: "pay.send", When: "has(args.cc) && size(args.cc) > 1", Then: permission.Ask},
	}
	rapid.Check(t, func(rt *rapid.T) {
		var rules []permission.Rule
		for i := range rapid.IntRange(1, 3).Draw(rt, "rules") {
			r := permission.Rule{ID: string(rune('a' + i)), Skill: "pay.send", Then: permission.Modify,
				Modify: []permission.Op{rapid.SampledFrom(someOps()).Draw(rt, "op")}}
			r.When = rapid.SampledFrom([]string{"", "args.amount > 5", "has(args.note)", "args.note == ''",
				"call.recipients.size() > 1"}).Draw(rt, "when")
			rules = append(rules, r)
		}
		args := map[string]any{"to": "z@b.c", "amount": rapid.IntRange(0, 30).Draw(rt, "amount")}
		for k, gen := range map[string]*rapid.Generator[any]{
			"note": rapid.StringMatching(`[ab1#!?]{0,6}`).AsAny(), "urgent": rapid.Bool().AsAny(), "copies": rapid.IntRange(0, 5).AsAny(),
			"cc":   rapid.SliceOfN(rapid.SampledFrom([]string{"a@b.c", "b@b.c"}), 0, 3).AsAny(),
			"tags": rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y"}), 0, 2).AsAny(),
		} {
			if rapid.Bool().Draw(rt, "with "+k) {
				args[k] = gen.Draw(rt, k)
			}
		}
		b, err := json.Marshal(args)
		require.NoError(t, err)
		with, without := newRewriter(t, append(rules, judging...)...), newRewriter(t, judging...)
		c := propose(t, with, string(b))
		got, err := with.Decide(context.Background(), c)
		require.NoError(t, err)
		judged, failed := with.Rewrite(context.Background(), c)
		direct, err := without.Decide(context.Background(), propose(t, without, judged.Args()))
		require.NoError(t, err)
		require.LessOrEqual(t, got.Outcome, direct.Outcome)
		if failed != nil {
			require.Equal(t, sentinel.Deny, got.Outcome)
			return
		}
		require.Equal(t, direct.Outcome, got.Outcome)
		require.Equal(t, direct.Digest, got.Digest)
		again, failed := with.Rewrite(context.Background(), propose(t, with, judged.Args()))
		require.Nil(t, failed)
		require.Equal(t, judged.Args(), again.Args())
		require.Subset(t, c.Touch().Recipients, judged.Touch().Recipients, "no rewrite adds a recipient")
	})
}

// Rewriting of any JSON ends in a call that the rules leave as it is, or in a
// denial. The proposed call stays as it was.
func FuzzRewrite(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"note":"ab1!"}`, `{"amount":1e300,"copies":-5}`, `{"note":1,"cc":"x"}`, `{"cc":["a",1]}`, `{"extra":{"a":["a",{"a":"\u0000"}]}}`,
		`{"note":"\ud83d\ude00aabb","tags":[]}`, `{"amount":9007199254740992}`, `{"urgent":"x","tags":[["x"]]}`, `{"note":"!?!?"}`,
	} {
		f.Add(s, uint16(0xffff))
	}
	all := someOps()
	f.Fuzz(func(t *testing.T, args string, pick uint16) {
		var rules []permission.Rule
		for i, o := range all {
			if pick&(1<<i) != 0 {
				rules = append(rules, permission.Rule{Skill: "pay.send", Then: permission.Modify, Modify: []permission.Op{o}})
			}
		}
		cp := newRewriter(t, rules...)
		g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g1", Conversation: "c1", Agent: "a1"})
		require.NoError(t, err)
		c, err := cp.NewCall(sentinel.Proposal{Skill: "pay.send", Args: []byte(args), Grant: g})
		if err != nil {
			return
		}
		before := c.Args()
		got, failed := cp.Rewrite(t.Context(), c)
		require.Equal(t, before, c.Args())
		canon, err := cp.NewCall(sentinel.Proposal{Skill: "pay.send", Args: []byte(before), Grant: g})
		require.NoError(t, err)
		require.Equal(t, canon.Parsed(), c.Parsed())
		if failed != nil {
			require.Equal(t, sentinel.Deny, failed.Outcome)
			require.Equal(t, c.Digest(), got.Digest())
			return
		}
		next, err := cp.NewCall(sentinel.Proposal{Skill: "pay.send", Args: []byte(got.Args()), Grant: g})
		require.NoError(t, err)
		again, failed := cp.Rewrite(t.Context(), next)
		require.Nil(t, failed)
		require.Equal(t, got.Args(), again.Args())
	})
}
