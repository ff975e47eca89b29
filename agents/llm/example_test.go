package llm_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/llm/scripted"
)

// Chat sends one question. A failure has a kind, by which its caller decides what to do.
func ExampleClient_Chat() {
	script, err := scripted.Load([]byte(`{"rules": [{"reply": {"content": "Good morning."}}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := scripted.Serve(context.Background(), script, scripted.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	model, err := llm.New(llm.Config{Name: "fast", Model: "scripted", BaseURL: server.BaseURL()}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	hello := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "Hello!"}}}
	answer, err := model.Chat(context.Background(), hello)
	fmt.Println(answer.Content, err)

	server.FaultNext(1, scripted.RateLimited)
	_, err = model.Chat(context.Background(), hello)
	var failed *llm.Error
	fmt.Println(errors.As(err, &failed), failed.Kind)
	// Output:
	// Good morning. <nil>
	// true rate_limited
}
