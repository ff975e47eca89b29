// Quickstart is the least program with Vedette inside: one skill, and a person at the terminal
// who is asked before it runs. Run it from its folder:
//
//	OPENAI_API_KEY=… go run . "Write to bob@example.com that I am late"
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/skills"
)

type letter struct{ To, Text string }

func main() {
	ctx := context.Background()
	send := must(skills.Func(skills.Spec{Name: "mail.send", Description: "Send a letter.", Effect: skills.Irreversible},
		func(_ context.Context, l letter) (string, error) { return "sent to " + l.To, nil }))
	cfg := must(config.Load("vedette.yaml", config.Options{Program: []*skills.Skill{send.Skill()}}))
	o := must(orchestrator.New(ctx, cfg, orchestrator.Options{
		Skills:   []*skills.GoSkill{send},
		Approver: approval.NewTerminal(approval.TerminalOptions{In: os.Stdin, Out: os.Stderr}),
	}))
	defer func() { _ = o.Close(ctx) }()
	chat := must(o.Open(ctx, orchestrator.ConversationOptions{ID: "quickstart", User: "me"}))
	for event, err := range chat.Stream(ctx, os.Args[1]) {
		fmt.Print(must(event, err).Text)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
