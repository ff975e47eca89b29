package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// maxEvent bounds an event in bytes.
const maxEvent = 8 << 20

// The events that are answered.
const (
	beforeTool  = "PreToolUse"
	afterTool   = "PostToolUse"
	afterFailed = "PostToolUseFailure"
	onPrompt    = "UserPromptSubmit"
)

// event is what Claude Code tells a hook.
type event struct {
	Name     string          `json:"hook_event_name"`
	Session  string          `json:"session_id"`
	Tool     string          `json:"tool_name"`
	Input    json.RawMessage `json:"tool_input"`
	ToolUse  string          `json:"tool_use_id"`
	Response json.RawMessage `json:"tool_response"`
	Error    string          `json:"error"`
	Prompt   string          `json:"prompt"`
}

// idRE is what ids of sessions and tool uses look like.
var idRE = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// awaitEvent reads one event within readTime. A reader that never ends stays behind; the process ends soon.
func awaitEvent(ctx context.Context, r io.Reader) (event, error) {
	type read struct {
		event event
		err   error
	}
	done := make(chan read, 1)
	go func() {
		e, err := readEvent(r)
		done <- read{e, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	select {
	case got := <-done:
		return got.event, got.err
	case <-ctx.Done():
		return event{}, errors.New("the event on standard input did not end; let Claude Code start this command as a hook")
	}
}

// readEvent reads one event. The error quotes nothing of it.
func readEvent(r io.Reader) (e event, err error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxEvent+1))
	switch {
	case err != nil:
		return e, errors.New("the event can't be read from standard input")
	case len(raw) > maxEvent:
		return e, fmt.Errorf("the event is longer than %d bytes", maxEvent)
	case json.Unmarshal(raw, &e) != nil:
		return e, errors.New("the event on standard input is no JSON; let Claude Code start this command as a hook")
	case !idRE.MatchString(e.Session):
		return e, errors.New("the event has no session_id")
	}
	switch e.Name {
	case onPrompt:
		return e, nil
	case beforeTool, afterTool, afterFailed:
		if e.Tool == "" || !idRE.MatchString(e.ToolUse) {
			return e, errors.New("the event names no tool or no tool_use_id; this version of Claude Code is not known")
		}
		return e, nil
	}
	return e, fmt.Errorf("the hook is for %s, %s, %s and %s; remove it from other events", beforeTool, afterTool, afterFailed, onPrompt)
}
