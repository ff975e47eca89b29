// Package permission is the gate of the operator's rules. A rule says which skill, for
// which users and under which condition, is allowed, asked about or denied. A rule may
// also rewrite a call before the gates judge it.
//
//	gate, err := permission.New(permission.Options{
//		Default:  permission.DefaultAllow,
//		Registry: reg,
//		Rules: []permission.Rule{
//			{Skill: "email.send", When: "!args.to.endsWith('@example.com')", Then: permission.Ask},
//			{Skill: "tasks.*", Users: []string{"guest-*"}, Then: permission.Deny},
//			{Skill: "pay.send", Then: permission.Modify, Modify: []permission.Op{{Clamp: "amount", Max: "100"}}},
//		},
//	})
//
// The package isn't stable: docs/api.md lists those that are.
//
// The gate evaluates and lists every rule that fits; the most restrictive one decides.
// So a further rule never raises an outcome while the default is allow. An allow rule
// matters only where the default is deny. A rule whose condition can't be evaluated
// denies, whatever the others say. An absent argument, a wrong type or a high cost are
// such conditions.
//
// # Conditions
//
// A condition is CEL with its standard functions and its strings extension.
// What it sees, each with a condition that is true of the call in the package's
// test:
//
//	args               map        the arguments; integers are int, other numbers double
//	                              e.g. args.to.lowerAscii().endsWith('@example.com')
//	call.skill         string     the skill's name
//	                              e.g. call.skill.startsWith('email.')
//	call.effect        string     read, create, modify, irreversible or costs_money
//	                              e.g. call.effect in ['irreversible', 'costs_money']
//	call.reaches       string     self or others, as the skill says
//	                              e.g. call.reaches == 'others'
//	call.agent         string     the agent's id
//	                              e.g. call.agent == 'mailer'
//	call.conversation  string     the conversation's id
//	                              e.g. call.conversation != ''
//	call.digest        string     of the call as it is judged
//	                              e.g. call.digest.startsWith('sha256:')
//	call.tainted       bool       the agent has read an untrusted result
//	                              e.g. !call.tainted || call.outward
//	call.outward       bool       the call reaches others
//	                              e.g. call.outward
//	call.paths         list       paths, cleaned; where links lead elsewhere, the real ones too
//	                              e.g. call.paths.exists(p, p.startsWith('/srv/'))
//	call.hosts         list       hosts, lower case, without port
//	                              e.g. 'files.example.com' in call.hosts
//	call.commands      list       program names; '' for one that can't be known or read
//	                              e.g. call.commands.all(c, c in ['ls', 'cat'])
//	call.recipients    list       addresses, accounts and ids that are reached or affected; addresses in small letters
//	                              e.g. call.recipients.exists(r, r.endsWith('@example.com'))
//	call.flags         list       bidi, control, zero_width: unseen characters in the arguments
//	                              e.g. size(call.flags) == 0
//	flow               flow       flow.from says whether the arguments carry what a skill returned before
//	                              e.g. !flow.from('email.*')
//	grant.agent        string     the same as call.agent
//	                              e.g. grant.agent.matches('^[a-z]+$')
//	grant.mission_by   string     who wrote the mission: user, operator or orchestrator
//	                              e.g. grant.mission_by != 'user'
//	grant.tainted      bool       the branch was tainted before this agent read anything
//	                              e.g. !grant.tainted
//	grant.scope        list       the skills the agent holds, as granted
//	                              e.g. 'email.*' in grant.scope
//	user               string     the user's id
//	                              e.g. user == 'ada' || user.startsWith('staff-')
//	time               timestamp  now, UTC; the same for all rules of a call
//	                              e.g. time.getHours() >= 8 && time.getDayOfWeek() in [1, 2, 3, 4, 5]
//
// flow.from takes a skill's name, a domain such as bank.* or *. Package sentinel/flow says what
// counts as carried, and in which disguises. It is true also of a call that stays inside, and
// where results are too long to be compared to the end.
//
// Test an optional argument with has(args.cc) first. Mixed arithmetic needs
// double(args.amount).
//
// # Rewriting
//
// A rule that says modify has a list of declared rewrites (Op). All such rules
// are applied once, in order, before any gate judges. Their conditions see the call as
// it was proposed. The result is a call of its own, which every gate judges as if it had
// been proposed like that. A rewrite gives no permission: a modify rule matches nothing
// where the default is deny. Check leaves these rules out; Modify applies them.
//
// A rewrite that would change its own result again denies
// (modify.unstable), and so does a rule that fails (modify.error). Targets may
// be removed or narrowed and never replaced: New refuses such a rule. Targets are
// x-target, x-url, x-path, x-shell, and any text of a skill without marks.
//
// What not to do. Don't write a rule to grant something: a scope does that. Don't
// count on a skill's `approval: never` to lift an ask: nothing does. Don't let the
// condition of a modify rule depend on what another one makes.
package permission
