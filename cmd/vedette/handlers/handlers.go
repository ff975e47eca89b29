// Package handlers makes what answers behind the server of vedette serve: the API, the door for
// chat interfaces, the streaming proxy, and the pages.
//
// What not to do: don't build a part of an orchestrator here, and open no store.
package handlers

import (
	"context"
	"errors"
	"os/user"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/api"
	"github.com/vedette-dev/vedette/orchestrator/assistants"
	"github.com/vedette-dev/vedette/orchestrator/proxy"
	"github.com/vedette-dev/vedette/orchestrator/serve"
	"github.com/vedette-dev/vedette/orchestrator/threads"
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
		h := serve.Handlers{API: a, Docs: a.Docs(), Pages: pages, Door: door, Close: end}
		if !l.Config.Proxy.IsOn() {
			return h, nil
		}
		if err := addProxy(ctx, &h, l); err != nil {
			return serve.Handlers{}, errors.Join(err, end(ctx))
		}
		return h, nil
	}
}

// addProxy adds the streaming proxy.
func addProxy(ctx context.Context, h *serve.Handlers, l serve.Live) error {
	parts := l.Orchestrator.Parts()
	keys, err := threads.OpenKeys(ctx, threads.KeyOptions{Store: parts.Store, Idle: l.Config.Proxy.Idle, Keep: l.Config.Journal.Retention})
	if err != nil {
		return err
	}
	o := proxy.Options{
		Handover: parts.Handover, Registry: parts.Registry, Keys: keys, Running: parts.Running, Key: parts.Keys.Digest(),
		Credential: parts.FindCredential, PublicURL: l.URL, LocalUser: nameLocalUser(), Log: l.Log,
		Begin: func(ctx context.Context, format string) (context.Context, func(proxy.Event)) {
			ctx, end := l.Orchestrator.BeginProxied(ctx, format)
			return ctx, func(e proxy.Event) {
				end(orchestrator.ProxyAnswer{Format: e.Format, Stream: e.Stream, Shadow: e.Shadow, Failure: e.Failure, Forwarded: e.Forwarded,
					Blocked: e.Blocked, Refused: e.Refused, Upstream: e.Upstream, Took: e.Took, Held: e.Held})
			}
		},
	}
	door, err := proxy.New(ctx, o)
	if err != nil {
		return err
	}
	end := h.Close
	h.Proxy = door.Guarded(l.Guard)
	h.Close = func(ctx context.Context) error { door.Close(); return end(ctx) }
	return nil
}

// nameLocalUser is for whom callers on this machine act who need no token.
func nameLocalUser() string {
	if u, err := user.Current(); err == nil && access.CheckUser(u.Username) == nil {
		return u.Username
	}
	return "local"
}
