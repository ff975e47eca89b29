package approval_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// Without people to ask, every call that needs one is denied with that reason.
func ExampleNobody() {
	v, err := approval.Nobody{}.Approve(context.Background(), sentinel.Call{}, sentinel.Decision{})
	fmt.Println(v.Outcome, v.Code, err)
	// Output: deny approval.nobody <nil>
}

// A person at a terminal is shown the call as it will run, and types an answer.
func ExampleTerminal() {
	var screen bytes.Buffer
	terminal := approval.NewTerminal(approval.TerminalOptions{In: strings.NewReader("no\n"), Out: &screen})
	v, err := terminal.Approve(context.Background(), sentinel.Call{}, sentinel.Decision{})
	fmt.Println(v.Outcome, v.Code, err)
	// Output: deny approval.denied <nil>
}
