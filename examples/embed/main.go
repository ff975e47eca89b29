// Embed is a small program with Vedette inside: one Go skill, the skills of a
// configuration, a person at the terminal. Run it from the repository's root:
//
//	OPENAI_API_KEY=… go run ./examples/embed examples/assistant/vedette.yaml "What is in my mailbox?"
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

// noInput is the input of a skill that takes no arguments.
type noInput struct{}

func main() {
	exec.MaybeChild() // skills of kind exec start this program again, inside their sandbox
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: embed CONFIG REQUEST")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	clock, err := skills.Func(
		skills.Spec{Name: "clock.now", Description: "Tell the time.", Effect: skills.Read, Output: skills.Trusted},
		func(context.Context, noInput) (string, error) { return time.Now().Format(time.RFC1123), nil })
	if err != nil {
		return err
	}
	cfg, err := config.Load(os.Args[1], config.Options{})
	if err != nil {
		return err
	}
	o, err := orchestrator.New(ctx, cfg, orchestrator.Options{
		Skills:   []*skills.GoSkill{clock},
		Approver: approval.NewTerminal(approval.TerminalOptions{In: os.Stdin, Out: os.Stdout}),
		// A model that fails its canaries and calls that go ahead unjudged are told here.
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer func() { _ = o.Close(context.WithoutCancel(ctx)) }()
	conv, err := o.Open(ctx, orchestrator.ConversationOptions{ID: "embed", User: "me"})
	if err != nil {
		return err
	}
	reply, err := conv.Send(ctx, os.Args[2])
	if err != nil {
		return err
	}
	fmt.Println(reply.Text)
	return nil
}
