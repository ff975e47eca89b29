// Package serve is the HTTP server of vedette serve: one address, the handlers behind it, health,
// and an end that loses nothing.
//
//	s, err := serve.Start(ctx, cfg, serve.Program{Options: orchestrator.Options{Skills: mySkills}})
//	fmt.Println(s.URL())
//	report, err := s.Run(ctx) // until ctx ends, then it drains
//
// A program with handlers of its own makes them in Program.Build.
//
// The package isn't stable: docs/api.md lists those that are.
//
// # What it answers
//
//	/v1/, /assistants/v1/   Options.API and Options.Door, behind the Guard: a token always
//	/healthz                the process lives
//	/readyz                 it takes work: 503 while it drains, or can't write down what it decides
//	/version                which build it is
//	/metrics                for tokens with the scope admin, or callers on this machine where server.metrics says so
//	/problems/{code}        what the code of a problem says
//	/                       Options.Pages, behind the Guard, which asks no token of them
//
// A path that is not plain, such as //v1/x, is 404 and sent nowhere else.
//
// # What it bounds
//
// Connections in all and of each address, the time of headers, of a request, of a connection at
// rest, and of each write: a reader that takes nothing for half a minute is cut off, and a stream may
// last for ever. Headers have 16 KiB, bodies server.limits.body. A panic of a handler is a 500
// with the request's id, and a line in the log.
//
// Without TLS, an address beyond the loopback talks to the declared proxies alone.
//
// # How it ends
//
// When the context of Run ends, /readyz says so, the Orchestrator is drained while its answers
// are still carried out, then Handlers.Close ends the streams, then the server ends.
//
// # What not to do
//
// Don't mount a handler past the Guard. Don't write a token, a path or a query into a log line: a
// request's line has its method, its area, its status and its id.
package serve
