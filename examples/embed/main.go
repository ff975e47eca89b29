// Embed is a small program with Vedette inside: one Go skill, the skills of a
// configuration, a person at the terminal. Run it from the repository's root:
//
//	OPENAI_API_KEY=… go run ./examples/embed examples/assistant/vedette.yaml "What is in my mailbox?"
//
// It has the command line in it too, which knows its Go skill:
//
//	go run ./examples/embed vedette validate examples/assistant/vedette.yaml
//
// A request with an id outlives the process: run it again with the same words and
// id, and it is gone on with, a question that no person has answered included.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/vedette-dev/vedette/cmd/vedette/command"
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
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// run answers one request, or runs the command line.
func run() (code int, err error) {
	clock, err := skills.Func(
		skills.Spec{Name: "clock.now", Description: "Tell the time.", Effect: skills.Read, Output: skills.Trusted},
		func(context.Context, noInput) (string, error) { return time.Now().Format(time.RFC1123), nil })
	if err != nil {
		return 1, err
	}
	opts := orchestrator.Options{
		Skills:   []*skills.GoSkill{clock},
		Approver: approval.NewTerminal(approval.TerminalOptions{In: os.Stdin, Out: os.Stdout}),
		// A model that fails its canaries and calls that go ahead unjudged are told here.
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	switch {
	case len(os.Args) > 1 && os.Args[1] == "vedette":
		os.Args = os.Args[1:]
		return command.Main(opts), nil
	case len(os.Args) != 3 && len(os.Args) != 4:
		return 2, fmt.Errorf("usage: embed CONFIG REQUEST, or embed vedette COMMAND; an id behind REQUEST lets it outlive the process")
	}
	r := orchestrator.Request{Text: os.Args[2]}
	if len(os.Args) == 4 {
		r.ID = os.Args[3]
	}
	if err := answer(os.Args[1], r, opts); err != nil {
		return 1, err
	}
	return 0, nil
}

// answer puts one request to the skills of the configuration and the program. A
// signal ends it in good order.
func answer(file string, r orchestrator.Request, opts orchestrator.Options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Rules may be about the program's own skills: the configuration is told of them.
	cfg, err := config.Load(file, config.Options{Program: []*skills.Skill{opts.Skills[0].Skill()}})
	if err != nil {
		return err
	}
	o, err := orchestrator.New(ctx, cfg, opts)
	if err != nil {
		return err
	}
	defer func() { _ = o.Close(context.WithoutCancel(ctx)) }()
	conv, err := o.Open(ctx, orchestrator.ConversationOptions{ID: "embed", User: "me"})
	if err != nil {
		return err
	}
	reply, err := sendRequest(ctx, conv, r)
	switch {
	case err == nil:
		fmt.Println(reply.Text)
	case ctx.Err() != nil && r.ID != "": // it is in the journal, and the next start goes on with it
		fmt.Fprintln(os.Stderr, "stopped; send the request again under the same id to go on with it")
		err = nil
	}
	return err
}

// sendRequest sends a request that outlives the process if it has an id.
func sendRequest(ctx context.Context, conv *orchestrator.Conversation, r orchestrator.Request) (orchestrator.Reply, error) {
	if r.ID == "" {
		return conv.Send(ctx, r.Text)
	}
	return conv.SendRequest(ctx, r)
}
