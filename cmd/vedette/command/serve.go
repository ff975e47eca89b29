package command

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/demo"
	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/orchestrator/serve"
)

// serveCommand is `vedette serve`.
type serveCommand struct {
	*app
	config  string
	jsonLog bool
	demo    bool
	stage   *demo.Stage // of a demo
	// onListen tells more once the server listens; nil tells nothing.
	onListen func(*serve.Service) error
}

func newServeCommand(a *app) *cobra.Command {
	c := &serveCommand{app: a}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API over the configured address",
		Long: `Serve runs the configuration as a server: conversations, decisions, approvals, health and
metrics over HTTP. It listens on server.listen, this machine's own address unless the
configuration says otherwise; anything else needs TLS, or a declared proxy that ends it.

Every request needs a token, from vedette token create or from the issuer under
server.auth.oidc. SIGTERM and SIGINT end it without losing work: it takes no more, finishes
what is under way within server.limits.drain, and says what it cut off. The next start goes on
with that. A second signal ends it at once.

A changed configuration is taken up while it runs, when its files change or on SIGHUP. What lets
more through is refused unless the process was started with reload: {allow_loosening: true}.
vedette status shows what became of it.`,
		Example: `  vedette serve --config vedette.yaml
  vedette token create backend --user ann --scope chat
  curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8420/v1/conversations`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	addConfigFlag(cmd, &c.config)
	cmd.Flags().BoolVar(&c.demo, "demo", false, "serve the demo's folder and scripted model, with a token for its pages")
	cmd.Flags().BoolVar(&c.jsonLog, "json-log", false, "write the log as lines of JSON")
	return cmd
}

// tellDemo prints how to get into the pages of a demo.
func (c *serveCommand) tellDemo(ctx context.Context, s *serve.Service) error {
	secret, err := c.stage.MakeToken(ctx, s.Live().Orchestrator)
	if err != nil {
		return err
	}
	c.tellNote("open %s/chat and sign in with this token, which is shown this once:", s.URL())
	c.tellNote("%s", secret)
	return nil
}

func (c *serveCommand) run(ctx context.Context) (err error) {
	load, examples := c.program().Load, []string(nil)
	if c.demo {
		if c.stage, err = demo.OpenStage(context.WithoutCancel(ctx), c.err); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.stage.Close()) }()
		load, examples = c.stage.Load, demo.Requests()
	}
	cfg, err := load(c.config)
	if err != nil {
		return err
	}
	c.serves.Store(true) // it ends with its own exit code, when its drain has
	opts := c.opts
	if opts.Log == nil {
		opts.Log = c.newServeLog()
	}
	build := readBuild(debug.ReadBuildInfo())
	reloading, stop := c.newReloading()
	defer stop()
	s, err := serve.Start(ctx, cfg, serve.Program{
		Options: opts, Version: build, Build: setup.NewHandlers(build.Version, examples), Reloading: reloading,
	})
	if err != nil {
		return err
	}
	c.tellNote("vedette listens on %s", s.URL())
	if c.demo {
		if err := c.tellDemo(ctx, s); err != nil {
			return errors.Join(err, s.Abort(context.WithoutCancel(ctx)))
		}
	}
	if c.onListen != nil {
		if err := c.onListen(s); err != nil {
			return errors.Join(err, s.Abort(context.WithoutCancel(ctx)))
		}
	}
	if len(s.Live().Orchestrator.Parts().Tokens.List()) == 0 && cfg.Server.Auth.OIDC.Issuer == "" && !cfg.Proxy.Local {
		c.tellNote("no token was made yet, so no request is let in: vedette token create NAME --user USER --scope chat --config %s", c.config)
	}
	if err := s.Live().Orchestrator.Reachable(ctx); err != nil {
		c.tellNote("vedette token, pause and top can't reach this process: %v", err)
	}
	err = s.Run(ctx)
	if ctx.Err() != nil {
		c.tellNote("%s", s.Drained().String())
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() == nil:
		return errors.New("the server ended by itself; the log says why")
	}
	return nil
}

// newReloading has SIGHUP and changed files read the configuration again. A demo keeps its own.
func (c *serveCommand) newReloading() (r serve.Reloading, stop func()) {
	if c.demo {
		return r, func() {}
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	r.Hangup, r.Load = hangup, c.program().Reader(c.config)
	return r, func() { signal.Stop(hangup) }
}

// newServeLog is the log of a server: to standard error.
func (c *serveCommand) newServeLog() *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if c.jsonLog {
		return slog.New(slog.NewJSONHandler(c.err, o))
	}
	return slog.New(slog.NewTextHandler(c.err, o))
}
