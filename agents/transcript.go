package agents

// The limits of a transcript: the oldest entries go first.
const (
	maxEntries   = 100
	maxEntryText = 2_000
)

// Entry is one line of an agent's transcript, for the orchestrator's model and
// for people. It may hold values.
type Entry struct {
	// Kind is mission, update, thought, call, result, refusal, error or help.
	Kind  string `json:"kind"`
	Skill string `json:"skill,omitempty"`
	Text  string `json:"text"`
}
