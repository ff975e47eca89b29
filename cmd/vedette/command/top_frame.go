package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator"
)

// frameLines is one moment as lines of text.
func frameLines(t orchestrator.Top, colour bool) []string {
	head := fmt.Sprintf("vedette %d   up %s   %d processes   %d tasks   %d calls in flight",
		t.PID, formatAge(t.Now.Sub(t.Started)), countProcesses(t.Tree), t.Tasks, len(t.InFlight))
	if t.Leaked > 0 {
		head += fmt.Sprintf("   %d goroutines that did not stop", t.Leaked)
	}
	if t.Draining {
		head += "\nDRAINING: what was begun is finished, nothing new is begun"
	}
	for _, m := range t.CanaryFailed {
		head += "\nDEGRADED: model " + terminal.Clean(m) + " of the review fails its canaries"
	}
	for _, p := range t.Pauses {
		head += fmt.Sprintf("\nPAUSED: %s, since %s by %s", nameTarget(p.Target), p.Since.Local().Format(time.DateTime), terminal.Clean(p.By))
	}
	tb := terminal.Table{Colour: colour, Right: map[int]bool{2: true, 3: true, 4: true, 5: true}}
	tb.Add("PROCESS", "STATE", "RESTARTS", "MAILBOX", "TASKS", "AGE", "KIND", "AT", "LAST EXIT")
	rows := processRows{t, &tb, map[string]string{}}
	for _, call := range slices.Backward(t.InFlight) { // an agent is at the first of its calls
		phase := strings.ReplaceAll(call.Phase, "_", " ")
		rows.calls[call.Conversation+"\x00"+call.Agent] = call.Skill + " " + phase + " " + formatAge(t.Now.Sub(call.Since))
	}
	rows.addProcesses(t.Tree, 0, "")
	var b strings.Builder
	_ = tb.Write(&b) // a Builder takes all
	return strings.Split(head+"\n\n"+strings.TrimRight(b.String(), "\n"), "\n")
}

func countProcesses(list []orchestrator.ProcessInfo) (n int) {
	for _, p := range list {
		n += 1 + countProcesses(p.Children)
	}
	return n
}

// processRows adds processes to a table.
type processRows struct {
	top   orchestrator.Top
	table *terminal.Table
	// calls are what agents are at, by conversation and agent.
	calls map[string]string
}

// addProcesses adds the processes below one another, an agent with the call it is at.
func (r processRows) addProcesses(list []orchestrator.ProcessInfo, depth int, conversation string) {
	t := r.top
	for _, p := range list {
		at := conversation
		if id, ok := strings.CutPrefix(p.ID, "conversation-"); ok {
			at = id
		}
		agent, isAgent := strings.CutPrefix(p.ID, "agent-")
		if p.ID == "server" { // the conversation's own calls
			agent, isAgent = "orchestrator", true
		}
		now := strings.ReplaceAll(p.Phase, "_", " ")
		if !p.PhaseSince.IsZero() && p.Phase != "idle" {
			now += " " + formatAge(t.Now.Sub(p.PhaseSince))
		}
		if call := r.calls[at+"\x00"+agent]; isAgent && call != "" { // what it is at says more
			now = call
		}
		r.table.Add(strings.Repeat("  ", depth)+terminal.Clean(p.ID), p.State, strconv.Itoa(p.Restarts), strconv.Itoa(p.Mailbox),
			strconv.Itoa(p.Tasks), formatAge(t.Now.Sub(p.Since)), p.Restart+" "+p.Type, now, terminal.Clean(p.LastExit))
		r.addProcesses(p.Children, depth+1, at)
	}
}
