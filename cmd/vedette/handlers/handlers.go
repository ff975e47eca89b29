// Package handlers makes what answers behind the server of vedette serve: the API, the door for
// chat interfaces, and the pages.
//
// What not to do: don't build a part of an orchestrator here, and open no store.
package handlers

import (
	"context"
	"errors"

	"github.com/vedette-dev/vedette/orchestrator/api"
	"github.com/vedette-dev/vedette/orchestrator/assistants"
	"github.com/vedette-dev/vedette/orchestrator/serve"
	"github.com/vedette-dev/vedette/orchestrator/web"
)

// Builder is a serve.Program's Build.
type Builder = func(context.Context, serve.Live) (serve.Handlers, error)

// Build returns a serve.Program's Build for a version of the program. The chat page offers the examples.
func Build(version string, examples []string) Builder {
	return func(ctx context.Context, l serve.Live) (serve.Handlers, error) {
		a, err := api.New(ctx, api.Options{Orchestrator: l.Orchestrator, PublicURL: l.URL, Version: version, Log: l.Log})
		if err != nil {
			return serve.Handlers{}, err
		}
		o := web.Options{Orchestrator: l.Orchestrator, Guard: l.Guard, PublicURL: l.URL, Examples: examples, Log: l.Log,
			Replay: newReplayer(l.Config, l.Log)}
		if l.Issuer != nil {
			o.Issuer, o.IssuerOnly = l.Issuer, l.Config.Server.Auth.OIDC.SignIn.Only
		}
		pages, err := web.New(o)
		if err != nil {
			a.Close()
			return serve.Handlers{}, err
		}
		end := func(context.Context) error { pages.Close(); a.Close(); return nil }
		chat := l.Config.Server.Chat
		door, err := assistants.New(ctx, assistants.Options{
			Orchestrator: l.Orchestrator, Assistants: l.Config.ListAssistants(), PublicURL: l.URL, Idle: chat.Idle, Hold: chat.Hold, Log: l.Log,
		})
		if err != nil {
			return serve.Handlers{}, errors.Join(err, end(ctx))
		}
		return serve.Handlers{API: a, Docs: a.Docs(), Pages: pages, Door: door, Close: end}, nil
	}
}
