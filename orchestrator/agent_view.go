package orchestrator

import (
	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/loop"
)

// agentView is an agent as the orchestrator's model sees it.
type agentView struct {
	agents.Result
	Took       string         `json:"took"`
	Help       string         `json:"needs_help,omitempty"`
	HelpSkills []string       `json:"asks_for_skills,omitempty"`
	Transcript []agents.Entry `json:"transcript,omitempty"`
	Note       string         `json:"note,omitempty"`
}

// fitViews cuts the answers of agents that are too long together. So what is shown of each
// has its end.
func fitViews(list []agentView, room int) {
	size := 0
	for _, v := range list {
		size += len(v.Answer)
	}
	if size <= room {
		return
	}
	for i := range list {
		list[i].Answer = loop.Cut(list[i].Answer, room/len(list))
	}
}
