package permission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/skills"
)

// A comparison of a closed name with a word that it never holds is a mistake. The
// message names its place in the condition.
func TestComparisonsThatNeverHold(t *testing.T) {
	for when, want := range map[string]string{
		"call.effect == 'irreversable'": `1:16: call.effect is never "irreversable"; did you mean ` +
			`"irreversible"?`,
		"'irreversable' == call.effect": `1:1: call.effect is never "irreversable"; did you mean ` +
			`"irreversible"?`,
		"dyn(call.effect) == 'irreversable'": `1:21: call.effect is never "irreversable"; did you mean ` +
			`"irreversible"?`,
		"string(call.effect) in ['craete']": `1:25: call.effect is never "craete"; did you mean "create"?`,
		"['read', 'irreversable'].exists(e, e == call.effect)": `1:10: call.effect is never "irreversable"; did you mean ` +
			`"irreversible"?`,
		"['read', 'craete'].all(e, call.effect != e)": `1:10: call.effect is never "craete"; did you mean "create"?`,
		"call.tainted && call.effect != 'Read'":       `1:32: call.effect is never "Read"; did you mean "read"?`,
		"call.effect in ['read', 'craete']":           `1:25: call.effect is never "craete"; did you mean "create"?`,
		"!(call.effect in ['write'])": `1:19: call.effect is never "write"; it is one of read, create, ` +
			`modify, irreversible, costs_money`,
		"call.skill == 'email.sned'": `1:15: call.skill is never "email.sned"; did you mean "email.send"?`,
		"call.skill.startsWith('emial.')": `1:23: call.skill.startsWith("emial.") is never true; it is one ` +
			`of email.read, email.send, files.write, open.any`,
		"call.skill.endsWith('.sned')": `1:21: call.skill.endsWith(".sned") is never true; it is one of ` +
			`email.read, email.send, files.write, open.any`,
		"call.skill.contains('sned')": `1:21: call.skill.contains("sned") is never true; it is one of ` +
			`email.read, email.send, files.write, open.any`,
		"call.skill.matches('^emial')": `1:20: call.skill.matches("^emial") is never true; it is one of ` +
			`email.read, email.send, files.write, open.any`,
		"call.reaches == 'other'":    `1:17: call.reaches is never "other"; did you mean "others"?`,
		"grant.mission_by == 'User'": `1:21: grant.mission_by is never "User"; did you mean "user"?`,
		"'zero-width' in call.flags": `1:1: an element of call.flags is never "zero-width"; did you ` +
			`mean "zero_width"?`,
		"call.flags.exists(f, f == 'bidir')": `1:27: an element of call.flags is never "bidir"; did you mean ` +
			`"bidi"?`,
		"'emial.*' in grant.scope": `1:1: an element of grant.scope is never "emial.*"; did you mean ` +
			`"email.*"?`,
		"grant.scope.all(s, s in ['email.*', 'files.wirte'])": `1:37: an element of grant.scope is never "files.wirte"; did you ` +
			`mean "files.write"?`,
		"'Files.example.com' in call.hosts": `1:1: an element of call.hosts never holds "Files.example.com"; ` +
			`write "files.example.com"`,
		"call.hosts.exists(h, h.endsWith('.Example.com'))": `1:33: an element of call.hosts never holds ".Example.com"; write ` +
			`".example.com"`,
		"call.recipients.exists(r, r.endsWith('@EXAMPLE.com'))": `1:38: an address in call.recipients never holds "@EXAMPLE.com"; ` +
			`write "@example.com"`,
		"'Bob@example.com' in call.recipients": `1:1: an address in call.recipients never holds ` +
			`"Bob@example.com"; write "bob@example.com"`,
		"!args.to.lowerAscii().endsWith('@EXAMPLE.com')": `1:32: a text after lowerAscii() never holds "@EXAMPLE.com"; ` +
			`write "@example.com"`,
		"args.to.lowerAscii().trim() == 'Bob'":                    `1:32: a text after lowerAscii() never holds "Bob"; write "bob"`,
		"args.to.upperAscii().contains('bob')":                    `1:31: a text after upperAscii() never holds "bob"; write "BOB"`,
		"has(args.to) && (user == 'x' || call.effect == 'reads')": `1:48: call.effect is never "reads"; did you mean "read"?`,
		"call.paths.exists(p, call.effect == 'reads')":            `1:37: call.effect is never "reads"; did you mean "read"?`,
		"call.flags.exists(f, call.paths.exists(f, f == 'x') || f == 'y')": `1:61: an element of call.flags is never "y"; it is one of bidi, ` +
			`control, zero_width`,
		"call.tainted ? call.effect == 'a1' : call.reaches == 'b1'": `1:31: call.effect is never "a1"; it is one of read, create, modify, ` +
			`irreversible, costs_money` + "\n" +
			`permissions[0].when: 1:54: call.reaches is never "b1"; it is one of self, others`,
	} {
		t.Run(when, func(t *testing.T) {
			_, err := permission.New(permission.Options{Registry: registry(t),
				Rules: []permission.Rule{{Skill: "*", Then: permission.Ask, When: when}}})
			require.EqualError(t, err, "permissions[0].when: "+want)
		})
	}
}

// A comparison of an argument with a value of a type that its schema refuses is a
// mistake. The message names its place in the condition.
func TestArgumentsOfAnotherType(t *testing.T) {
	for when, want := range map[string]string{
		"args.to == 5":                 "1:12: args.to is never a number; its schema says string",
		"args.to != true":              "1:12: args.to is never a boolean; its schema says string",
		"5.5 == args['to']":            "1:1: args.to is never a number; its schema says string",
		"has(args.n) && args.n == '5'": "1:26: args.n is never a string; its schema says number",
		"args.to in ['a', 5]":          "1:18: args.to is never a number; its schema says string",
		"args.list == 'a' || args.opt == 'a'": "1:14: args.list is never a string; its schema says array\npermissions[0].when: 1:33: args.opt " +
			"is never a string; its schema says object",
		"call.tainted &&\n  args.to == 5":   "2:14: args.to is never a number; its schema says string",
		"args.list.exists(x, args.to == 5)": "1:32: args.to is never a number; its schema says string",
	} {
		_, err := permission.New(permission.Options{Registry: registry(t),
			Rules: []permission.Rule{{Skill: "email.send", Then: permission.Ask, When: when}}})
		require.EqualError(t, err, "permissions[0].when: "+want, when)
	}
	for _, rule := range []permission.Rule{
		{Skill: "email.send", When: "args.to == 'a' && args.n == 5 && args.n != 5.5 && args['n'] in [1u, 2]"},
		{Skill: "email.send", When: "args.to != null && args.list == [1] && args.list.exists(x, x == 5) && args.opt.a == 5"},
		{Skill: "email.send", When: "args.to == args.n || has(args.to) == true || args[user] == 5"},
		{Skill: "*", When: "args.to == 5"}, // open.any takes any
		{Skill: "open.any", When: "args.to == 5"},
		{Skill: "mixed.type", When: "args.a == 5 && args.b == 5 && args.b == 'x' && args.b != null && args.c == 5"},
	} {
		rule.Then = permission.Ask
		mixed := skills.Spec{Name: "mixed.type", Effect: skills.Read,
			Parameters: []byte(`{"type":"object","properties":{"a":{},"b":{"type":["string","integer"]},"c":{"anyOf":[{"type":"string"},` +
				`{"type":"integer"}]}}}`)}
		_, err := permission.New(permission.Options{Registry: registry(t, mixed), Rules: []permission.Rule{rule}})
		require.NoError(t, err, rule.When)
	}
	known := permission.Options{Registry: registry(t), Known: []string{"email.more"},
		Rules: []permission.Rule{{Skill: "email.*", Then: permission.Ask, When: "args.to == 5"}}}
	_, err := permission.New(known)
	require.NoError(t, err, "of a skill elsewhere no schema is known")
}

// What may hold is no mistake, and neither is what can't be told.
func TestComparisonsThatMayHold(t *testing.T) {
	for _, when := range []string{
		"call.effect == 'irreversible' || 'read' == call.effect", "call.effect in ['create', 'modify', 'costs_money']",
		"call.effect.startsWith('irr')",
		"call.skill == 'email.send' || call.skill == 'pay.known'", "call.skill.matches('(?i)EMAIL')", "call.skill.startsWith('email.')",
		"grant.mission_by in ['', 'user', 'operator', 'orchestrator']", "call.flags.exists(f, f == 'bidi')", "'email.*' in grant.scope",
		"'Account-7' in call.recipients", "call.recipients.exists(r, r == 'ACME')", "args.to == 'Bob@Example.com'", "user == 'Ada'",
		"args.to.lowerAscii() == 'bob' && args.to.upperAscii() == 'BOB'", "call.effect == args.to", "call.paths.exists(f, f == 'Any')",
		"call.paths.exists(f, call.flags.exists(f, f == 'bidi') || f == 'Any')", "['irreversable'].exists(x, x == 'irreversable')",
		"['read', 'modify'].exists(e, e == call.effect)", "['x'].exists(e, ['read'].exists(e, e == call.effect) && e == args.to)",
		"dyn(args.to) == 'Any'",
	} {
		_, err := permission.New(permission.Options{Registry: registry(t), Known: []string{"pay.known"},
			Rules: []permission.Rule{{Skill: "*", Then: permission.Ask, When: when}}})
		require.NoError(t, err, when)
	}
	_, err := permission.New(permission.Options{Rules: []permission.Rule{{Skill: "*", Then: permission.Ask,
		When: "call.skill == 'any.name'"}}})
	require.NoError(t, err, "without the registry no name is known")
}
