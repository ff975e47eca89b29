package orchestrator

import (
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// What the model is shown of earlier turns, at most.
const (
	maxHistory      = 200
	maxHistoryBytes = 256 << 10
)

// trimHistory drops the oldest turns whole. Half a turn would leave answers whose calls
// the model doesn't see.
func trimHistory(h []llm.Message) []llm.Message {
	n, size := len(h), 0
	for n > 0 && len(h)-n < maxHistory && size <= maxHistoryBytes {
		n--
		size += measureMessage(h[n])
	}
	if size > maxHistoryBytes {
		n++
	}
	for n < len(h) && n > 0 && h[n].Role != llm.RoleUser {
		n++
	}
	return slices.Clone(h[n:])
}

// countBytes is how long messages are together.
func countBytes(list []llm.Message) (n int) {
	for _, m := range list {
		n += measureMessage(m)
	}
	return n
}

// measureMessage is how many bytes of text a message has.
func measureMessage(m llm.Message) int {
	n := len(m.Content)
	for _, k := range m.ToolCalls {
		n += len(k.Name) + len(k.Arguments)
	}
	return n
}

// earlierTurns are the turns of a conversation that are over and were answered.
type earlierTurns struct {
	messages []llm.Message          // what the next turn's model is shown
	said     []sentinel.EarlierTurn // what the user said, oldest first
	strange  []sentinel.Step        // untrusted results, oldest first
	results  []sentinel.PastResult  // what calls sent and brought, oldest first
}

// isEmpty reports whether no turn was answered.
func (e earlierTurns) isEmpty() bool { return len(e.messages) == 0 && len(e.said) == 0 }

// add adds a turn that was answered.
func (e earlierTurns) add(t *turn) earlierTurns {
	said := sentinel.EarlierTurn{Words: t.request, Tainted: t.desk.Grant().TaintedThisTurn()}
	return earlierTurns{
		trimHistory(t.loop.Messages()[1:]), // each turn writes its own instructions
		sentinel.KeepNewestTurns(append(slices.Clip(e.said), said)),
		sentinel.KeepNewestResults(slices.Concat(e.strange, readImported(t.opened.Imported), t.listStrange())),
		sentinel.KeepPastResults(append(slices.Clip(e.results), t.listResults()...)),
	}
}

// strangeRecord is an untrusted result as an endRecord has it.
type strangeRecord struct {
	Skill  string `json:"skill"`
	Result string `json:"result"`
}

// readStrange are the untrusted results of a turn, as the record of its end has them.
func (end *endRecord) readStrange() []sentinel.Step {
	out := readImported(end.Imported)
	for _, r := range end.Strange {
		out = append(out, sentinel.Step{Skill: r.Skill, Result: r.Result, Trust: skills.Untrusted})
	}
	return out
}

// resultRecord is what a call of the turn sent and brought, as an endRecord has it. Secret
// arguments are hidden.
type resultRecord struct {
	Skill     string        `json:"skill"`
	Args      string        `json:"args,omitempty"`
	Result    string        `json:"result,omitempty"`
	Trust     skills.Trust  `json:"trust,omitempty"`
	Effect    skills.Effect `json:"effect,omitempty"`
	Sensitive bool          `json:"sensitive,omitempty"`
	Gone      bool          `json:"gone,omitempty"`
	Failed    bool          `json:"failed,omitempty"`
	// StrangerFields are those of the skill as it was then.
	StrangerFields []string `json:"stranger_fields,omitempty"`
}

// writeResult is a result as an endRecord has it.
func writeResult(r sentinel.PastResult) resultRecord {
	return resultRecord{r.Skill, r.Args, r.Result, r.Trust, r.Effect, r.Sensitive, r.Gone, r.Failed, r.StrangerFields}
}

// readResults are what the calls of a turn sent and brought, as the record of its end has them.
func (end *endRecord) readResults() []sentinel.PastResult {
	var out []sentinel.PastResult
	for _, r := range end.Results {
		out = append(out, sentinel.PastResult{Gone: r.Gone, Step: sentinel.Step{
			Skill: r.Skill, Args: r.Args, Result: r.Result, Trust: r.Trust, Effect: r.Effect, Sensitive: r.Sensitive,
			Failed: r.Failed, StrangerFields: r.StrangerFields}})
	}
	return out
}

// readSaid is what the user said in a turn, as the record of its end has it. The first
// message of a turn is its request; one whose messages were too many for the record keeps
// its taint alone.
func (end *endRecord) readSaid() sentinel.EarlierTurn {
	said := sentinel.EarlierTurn{Tainted: end.Reply.Tainted && !end.TaintedBefore}
	if len(end.Messages) > 0 && end.Messages[0].Role == llm.RoleUser {
		said.Words = end.Messages[0].Content
	}
	return said
}

// taintOf is a grant with a taint as records have it.
func taintOf(tainted, before bool) sentinel.Grant {
	var g sentinel.Grant
	if !tainted {
		return g
	}
	if before {
		return g.TaintBefore()
	}
	return g.Taint()
}

// isTaintedBefore reports whether a grant's taint is of earlier turns alone.
func isTaintedBefore(g sentinel.Grant) bool { return g.Tainted() && !g.TaintedThisTurn() }
