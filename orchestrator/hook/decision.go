package hook

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/vedette-dev/vedette/internal/textcut"
)

// decision is what Claude Code reads of a PreToolUse hook.
type decision struct {
	Output struct {
		Event    string `json:"hookEventName"`
		Decision string `json:"permissionDecision"`
		Reason   string `json:"permissionDecisionReason"`
	} `json:"hookSpecificOutput"`
}

// writeDecision writes {} for a call that may run, and a denial with its reason otherwise.
func writeDecision(w io.Writer, e *event, a answer) error {
	var v any = struct{}{}
	if reason := refuse(e, a); reason != "" {
		d := decision{}
		d.Output.Event, d.Output.Decision, d.Output.Reason = beforeTool, "deny", textcut.Head(reason, maxReason)
		v = d
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("the decision can't be written: %w", err)
	}
	_, err = w.Write(append(raw, '\n'))
	return err
}

// refuse returns why the call may not run, empty where it may.
func refuse(e *event, a answer) string {
	switch {
	case a.State == "allowed" && a.Warrant != "" && !sameJSON(e.Input, a.Arguments):
		return "Vedette: a rule changes the arguments of this call, and a hook can't; propose it as the rule wants it."
	case a.State == "allowed" && a.Warrant != "":
		return ""
	case a.State == "allowed":
		return "Vedette: this very call was allowed before; it does not run twice."
	case a.State == "pending":
		where := ""
		if a.Link != "" {
			where = " at " + a.Link
		}
		return fmt.Sprintf("Vedette: the call waits for a person's approval %s%s. Ask the user to answer it; then try again.", a.Approval, where)
	case a.Refusal.Why != "":
		return fmt.Sprintf("Vedette: %s. %s", a.Refusal.Why, a.Refusal.Do)
	}
	return "Vedette: the call is " + cleanWord(a.State) + "."
}

// sameJSON reports whether two texts are the same JSON. Numbers must be written alike, or be equal
// as float64.
func sameJSON(a, b json.RawMessage) bool {
	if len(a) == 0 {
		a = json.RawMessage("{}")
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
