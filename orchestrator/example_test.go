package orchestrator_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
)

// One conversation with one request. The model is a script here; a program names its own
// under models.
func ExampleNew() {
	ctx := context.Background()
	script, err := scripted.Load([]byte(`{"rules": [{"reply": {"content": "Your mailbox is empty."}}]}`))
	exitOn(err)
	model, err := scripted.Serve(ctx, script, scripted.Options{})
	exitOn(err)
	defer model.Close()
	folder, err := os.MkdirTemp("", "vedette-example")
	exitOn(err)
	defer func() { _ = os.RemoveAll(folder) }()

	cfg, err := config.Parse("vedette.yaml", fmt.Appendf(nil, `
version: 1
models: {local: {model: scripted, base_url: %q}}
roles: {orchestrator: local, agent: local, sentinel: local}
sentinel: {canaries: {every: 0s}}
ledger: {path: vedette.db}
`, model.BaseURL()), config.Options{Dir: folder})
	exitOn(err)
	o, err := orchestrator.New(ctx, cfg, orchestrator.Options{Log: slog.New(slog.DiscardHandler)})
	exitOn(err)
	conversation, err := o.Open(ctx, orchestrator.ConversationOptions{ID: "c1", User: "ann"})
	exitOn(err)
	reply, err := conversation.Send(ctx, "What is in my mailbox?")
	fmt.Println(reply.Text, err)
	fmt.Println(o.Close(ctx))
	// Output:
	// Your mailbox is empty. <nil>
	// <nil>
}

func exitOn(err error) {
	if err != nil {
		panic(err)
	}
}
