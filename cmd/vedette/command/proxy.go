package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/orchestrator/serve"
)

// proxyCommand is `vedette proxy`.
type proxyCommand struct {
	serveCommand
	flags setup.ProxyFlags
	print bool
}

func newProxyCommand(a *app) *cobra.Command {
	c := &proxyCommand{serveCommand: serveCommand{app: a}}
	cmd := &cobra.Command{
		Use:   "proxy",
		Short: "Judge every tool call in a model's answers, for clients that change only their base URL",
		Long: `Proxy carries requests to a provider and its answers back. Text flows at once. Each tool call in an
answer is held until the rules, and a person where they ask one, have allowed it; a blocked call
becomes a text in its place. The client runs what it gets: that is its own part.

Without --config it writes a configuration for this machine into its state folder, and serves that. Callers
on this machine need no token then, and their own provider's key goes through. With --config it serves
that file, as vedette serve does: docs/streaming.md has the key proxy.

Begin with --mode shadow: everything is forwarded, and vedette proxy report says what enforcing
would have stopped.`,
		Example: `  vedette proxy
  vedette proxy --upstream https://api.anthropic.com --mode shadow
  vedette proxy --upstream http://127.0.0.1:8000/v1 --listen 127.0.0.1:9000
  ANTHROPIC_BASE_URL=http://127.0.0.1:8421/proxy/anthropic claude`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runProxy(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&c.config, "config", "", "configuration `FILE` in place of a written one")
	f.StringArrayVar(&c.flags.Upstreams, "upstream", nil,
		"`URL` of the provider, also openai=URL or anthropic=URL; several may be given (default both providers' own)")
	f.StringVar(&c.flags.Listen, "listen", "127.0.0.1:8421", "`HOST:PORT` to listen on")
	f.StringVar(&c.flags.Mode, "mode", "enforce", "enforce, or shadow: forward everything and record what enforcing would have done")
	f.StringVar(&c.flags.State, "state", "", "`FOLDER` for configuration, database and keys (default in the user's state folder)")
	f.BoolVar(&c.print, "print", false, "print the configuration and end")
	f.BoolVar(&c.jsonLog, "json-log", false, "write the log as lines of JSON")
	cmd.AddCommand(newProxyReportCommand(a))
	return cmd
}

// proxyReportCommand is `vedette proxy report`.
type proxyReportCommand struct {
	*app
	places
	since time.Duration
	json  bool
}

func newProxyReportCommand(a *app) *cobra.Command {
	c := &proxyReportCommand{app: a}
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Say what enforcing would have stopped while the proxy watched",
		Long: `Report counts what proxy.mode: shadow has recorded: calls that would have been stopped or asked about, by
tool and reason, with lines for the configuration to think about. It reads beside the running proxy, and needs its
keys for the names of tools that proxy.tools doesn't name.`,
		Example: `  vedette proxy report --since 168h
  vedette proxy report --config vedette.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&c.config, "config", "", "configuration `FILE` of the proxy (default the one that vedette proxy has written)")
	f.DurationVar(&c.since, "since", 7*24*time.Hour, "how far back records count")
	f.BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func (c *proxyReportCommand) run(ctx context.Context) error {
	if c.since <= 0 {
		return usageError("--since must be a time such as 168h")
	}
	if c.config == "" {
		folder, err := proxyFolder()
		if err != nil {
			return err
		}
		c.config = filepath.Join(folder, "proxy.yaml")
	}
	src, err := c.findSource(c.program(), false, true)
	if err != nil {
		return err
	}
	r, err := setup.ReadProxyReport(ctx, src, time.Now().Add(-c.since))
	switch {
	case err != nil:
		return err
	case c.json:
		return c.writeJSON(r, false)
	}
	return r.WriteText(c.out, c.color)
}

func (c *proxyCommand) runProxy(ctx context.Context) error {
	if c.flags.Mode != "enforce" && c.flags.Mode != "shadow" {
		return usageError("--mode is enforce or shadow")
	}
	if c.print {
		text, err := setup.ProxyConfig(c.flags)
		if err != nil {
			return usageError(err.Error())
		}
		_, err = c.out.Write([]byte(text))
		return err
	}
	if c.config == "" {
		if err := c.writeConfig(); err != nil {
			return err
		}
	}
	c.onListen = c.tellClients
	return c.run(ctx)
}

// writeConfig writes the configuration of this start.
func (c *proxyCommand) writeConfig() (err error) {
	if c.flags.State == "" {
		if c.flags.State, err = proxyFolder(); err != nil {
			return err
		}
	}
	c.config, err = setup.WriteProxyConfig(c.flags)
	if errors.Is(err, setup.ErrUpstream) {
		return usageError(err.Error())
	}
	return err
}

// proxyFolder is where a proxy without a configuration keeps its own.
func proxyFolder() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "vedette", "proxy"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("there is no home folder for the configuration; name a folder with --state FOLDER")
	}
	return filepath.Join(home, ".local", "state", "vedette", "proxy"), nil
}

// tellClients says how each client gets to the proxy.
func (c *proxyCommand) tellClients(s *serve.Service) error {
	p := s.Live().Config.Proxy
	if !p.IsOn() {
		return &failure{exitFailed, errors.New("the configuration has no proxy"),
			"add proxy: {openai: [{url: https://api.openai.com/v1}]} to " + c.config}
	}
	c.tellNote("point a client at the proxy:")
	if len(p.OpenAI) > 0 {
		c.tellNote("  OPENAI_BASE_URL=%s/proxy/openai/v1       libraries of OpenAI, and whatever takes such a base URL", s.URL())
	}
	if len(p.Anthropic) > 0 {
		c.tellNote("  ANTHROPIC_BASE_URL=%s/proxy/anthropic    libraries of Anthropic, and Claude Code", s.URL())
	}
	if p.Local {
		c.tellNote("the key that a client has for its provider goes through as it is")
	} else {
		c.tellNote("a client sends a token as its API key: vedette token create NAME --user USER --scope call --human --config %s", c.config)
	}
	if p.Mode == "shadow" {
		c.tellNote("nothing is stopped in shadow mode; what would have been: vedette proxy report --config %s", c.config)
	}
	c.tellNote("calls that ask for a person: vedette approvals list --config %s", c.config)
	return nil
}
