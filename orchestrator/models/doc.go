// Package models asks models on behalf of agents and of the orchestrator.
//
// A Model is a client of package llm with bounds: so many questions at a time, in which
// users take turns (package admission), and no question without room in the budgets of
// its agent, turn, conversation and user. What a question came to is counted when it is
// answered, or estimated where the server did not tell.
//
//	m := models.New(models.Options{Client: client, Concurrency: 8, Budgets: limiter})
//	resp, err := m.Chat(llm.WithCaller(ctx, llm.Caller{User: "ann", Turn: "t"}), request)
//
// The caller comes with the context, so that agents know no more of budgets than an error:
// each error is an *llm.Error, whose Kind and Code say what was missing.
//
// What not to do: don't ask a client of the roster directly on behalf of a turn; nothing
// would count it. The review has places and a budget of its own and doesn't ask through
// here.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through orchestrator.
package models
