package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/demo"
	"github.com/vedette-dev/vedette/cmd/vedette/setup"
)

// chatCommand is `vedette chat`.
type chatCommand struct {
	*app
	config, user        string
	server, tokenFile   string
	conversation        string
	demo                bool
	named, userWasNamed bool // flags that were given
}

func newChatCommand(a *app) *cobra.Command {
	c := &chatCommand{app: a}
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk to the agents at the terminal, and answer approvals in place",
		Long: `Chat is one conversation at the terminal. The answer streams, agents' steps are lines, and a
call that needs a person is shown and asked about in place.

With --config an orchestrator runs in this process. With --server it talks to a running
vedette serve, with the token in VEDETTE_TOKEN or in the file of --token-file; the token needs
the scope chat, was made with --human, and has the scope approve where questions are to be
answered here. With --demo it needs no configuration and no model.

Where the standard input is no terminal each line is a message. Questions stay open then, and
the chat says where they can be answered. /help lists the commands. Ctrl-C stops the request
first and leaves at the second time.`,
		Example: `  vedette chat --demo
  vedette chat --config vedette.yaml --user ann
  VEDETTE_TOKEN=vdt_… vedette chat --server http://127.0.0.1:8420
  echo 'What is in my mailbox?' | vedette chat`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.named, c.userWasNamed = cmd.Flags().Changed("config"), cmd.Flags().Changed("user")
			return c.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	addConfigFlag(cmd, &c.config)
	f.StringVar(&c.user, "user", "", "the `USER` on whose behalf agents work (default: the system's user)")
	f.StringVar(&c.server, "server", "", "`URL` of a running vedette serve")
	f.StringVar(&c.tokenFile, "token-file", "", "`FILE` with the token for --server, readable by you alone")
	f.StringVar(&c.conversation, "conversation", "", "go on with the conversation of this `ID`")
	f.BoolVar(&c.demo, "demo", false, "talk to the demo's folder and scripted model")
	return cmd
}

// checkFlags refuses flags that don't go together.
func (c *chatCommand) checkFlags() error {
	switch {
	case c.server != "" && (c.named || c.demo):
		return usageError("--server doesn't go with --config or --demo: the server has its own configuration")
	case c.demo && c.named:
		return usageError("--demo and --config don't go together")
	case c.server != "" && c.userWasNamed:
		return usageError("--server and --user don't go together: the user is the token's")
	case c.server == "" && c.tokenFile != "":
		return usageError("--token-file goes with --server")
	}
	return nil
}

func (c *chatCommand) run(ctx context.Context) (err error) {
	if err := c.checkFlags(); err != nil {
		return err
	}
	c.serves.Store(true) // a signal stops a request first, and the chat ends with its own exit code
	ctx = context.WithoutCancel(ctx)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	var peer setup.ChatPeer
	switch {
	case c.server != "":
		peer, err = c.dialServer(ctx)
	case c.demo:
		stage, opened := demo.OpenStage(ctx, c.err)
		if opened != nil {
			return opened
		}
		defer func() { err = errors.Join(err, stage.Close()) }()
		peer, err = c.openDemo(ctx, stage)
	default:
		peer, err = c.openHere(ctx)
	}
	if err != nil {
		return err
	}
	err = setup.RunChat(ctx, setup.ChatOptions{
		Peer: peer, In: c.in, Out: c.out, AtTerminal: c.askablePerson() != nil, Colour: c.color, Signals: signals,
		PrintCard: func(out io.Writer, card setup.ApprovalCard) error {
			return (&app{out: out, color: c.color}).printQuestion(card)
		},
	})
	if errors.Is(err, setup.ErrChatInterrupted) {
		return &failure{exitInterrupted, errors.Join(errTold, err), ""}
	}
	return err
}

// openHere runs an orchestrator in this process.
func (c *chatCommand) openHere(ctx context.Context) (setup.ChatPeer, error) {
	program := c.program()
	cfg, err := program.Load(c.config)
	if err != nil {
		return nil, err
	}
	opts := c.opts
	opts.Log = program.Log
	o := setup.ChatHere{Config: cfg, Program: opts}
	o.User, o.Conversation = c.user, c.conversation
	return setup.OpenChat(ctx, o, c.config)
}

// openDemo runs the demo's configuration in this process.
func (c *chatCommand) openDemo(ctx context.Context, stage *demo.Stage) (setup.ChatPeer, error) {
	for _, text := range demo.Requests() {
		c.tellNote("try       %s", text)
	}
	o := setup.ChatHere{Config: stage.Config}
	o.Program.Log = slog.New(slog.DiscardHandler) // the screen tells each decision
	o.User, o.Conversation = demoUser, c.conversation
	return setup.OpenChat(ctx, o, stage.File)
}

// demoUser is whose mailbox the demo has.
const demoUser = "ann"

// dialServer reaches a server with the token of the environment or the file.
func (c *chatCommand) dialServer(ctx context.Context) (setup.ChatPeer, error) {
	token := os.Getenv("VEDETTE_TOKEN")
	if c.tokenFile != "" {
		var err error
		if token, err = readTokenFile(c.tokenFile); err != nil {
			return nil, err
		}
	}
	if token == "" {
		return nil, &failure{exitFailed, errors.New("no token for the server is named"),
			"set VEDETTE_TOKEN or name a file with --token-file; vedette token create --scope chat --scope approve --human makes one"}
	}
	return setup.DialChat(ctx, setup.ChatServer{URL: c.server, Token: token, Conversation: c.conversation})
}

// maxToken bounds a file with a token, in bytes: those of issuers are long.
const maxToken = 64 << 10

// readTokenFile reads a token that its owner alone can read.
func readTokenFile(name string) (_ string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("the token's file can't be opened: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", fmt.Errorf("the token's file can't be read: %w", err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no file", name)
	case info.Mode().Perm()&0o077 != 0:
		return "", &failure{exitFailed, fmt.Errorf("%s can be read by others, and a token in it by them too", name), "chmod 600 " + name}
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return "", fmt.Errorf("the token's file can't be read: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}
