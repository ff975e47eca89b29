package review

import (
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/flow"
)

// flowPart is what a call that leaves the process may tell: which arguments carry what a skill
// returned, and what the agent has read before. It has names of arguments and skills alone.
type flowPart struct {
	Carries   []string `json:"carries,omitempty"`
	Private   []string `json:"private,omitempty"`
	Strangers []string `json:"strangers,omitempty"`
}

// maxFlows is how many entries each list of a flowPart has.
const maxFlows = 8

// describeFlow says what goes out with a call; nil where nothing was found and the agent has not
// read both private data and strangers' text.
func describeFlow(c sentinel.Call) *flowPart {
	r := flow.Of(c)
	carries := r.Describe()
	if len(carries) == 0 && (len(r.Private) == 0 || len(r.Strange) == 0) {
		return nil
	}
	return &flowPart{
		Carries: keepFirstEntries(carries, maxFlows), Private: keepFirstEntries(r.Private, maxFlows),
		Strangers: keepFirstEntries(r.Strange, maxFlows),
	}
}
