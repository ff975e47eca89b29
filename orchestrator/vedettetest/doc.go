// Package vedettetest tests programs with Vedette inside: a model that plays a script, an
// approver that says what the test says, and a recorder of what was decided. Everything
// else is real: the checkpoint, the database, HTTP over loopback.
//
//	kit := vedettetest.New(t, vedettetest.Options{Skills: []*skills.GoSkill{send}},
//		vedettetest.Orchestrator("invite Bob",
//			vedettetest.Dispatch("mailer", "mail an invitation", "mail.send"), vedettetest.Await(), "Bob is invited."),
//		vedettetest.Agent("mail an invitation",
//			vedettetest.Use("mail.send", map[string]any{"to": "bob@example.com"}), "sent"))
//	reply := kit.Send("invite Bob")
//	kit.RequireDecision("mail.send", "allow", "")
//	kit.RequireNoFurther()
//
// The package isn't stable: docs/api.md lists those that are.
//
// The model review is off unless Options.Config says otherwise: a script that plays the
// reviewer tests the script. Approvals are refused until a test calls Answer, or wait in the inbox where
// Options.Config turns it on. Handlers such as those of orchestrator/api take Kit.Orchestrator.
//
// What not to do: don't use a Kit outside of tests; don't test a prompt with a script,
// which answers what it is told to; don't assert on the order of decisions of agents that
// work at the same time.
package vedettetest
