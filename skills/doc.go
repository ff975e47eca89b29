// Package skills holds the words for what an agent can do: Spec (what an
// operator declares), Skill (a Spec that has been checked and compiled),
// Registry, Scope, Order, Result and Refusal.
//
// A Skill describes; it can't run. What runs is an Executor, and an Executor
// does nothing without a warrant for exactly the Order it is handed. Agents
// are given Skills, never Executors.
//
// A Go function becomes a skill with Func:
//
//	add, err := skills.Func(skills.Spec{Name: "tasks.create", Effect: skills.Create},
//		func(ctx context.Context, in NewTask) (Task, error) { … })
//
// The function asks CallerFrom for whom it runs: user, conversation, call id and
// idempotency key come from the order, never from a model. CredentialFrom returns the
// user's own credential, where UseCredentials named the credential. The executor finds a
// credential after it redeemed the warrant, keeps the credential for the call alone, and
// takes it out of the function's result. Within declares the folders and hosts that the
// function reaches.
//
// What not to do: don't keep an Executor where a model client or an agent can
// reach it; don't declare a smaller effect than the code has (the guard and
// the judge believe the Spec); don't take the user from an argument; don't mark
// output trusted unless the user alone can write what the skill returns.
package skills
