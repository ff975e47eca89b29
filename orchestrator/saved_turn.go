package orchestrator

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/orchestrator/history"
)

// savedTurn is what the journal has of a turn.
type savedTurn struct {
	text   string
	open   openRecord
	rounds []roundRecord
	agents map[string][]agentRecord // by grant
	ends   map[string]agentEndRecord
	end    *endRecord
}

// errLost is a turn that can't be gone on with: too much of it is gone, or is not
// understood.
var errLost = errors.New("what is kept of the request is not enough to go on with it")

// readSavedTurn puts the items of a turn back together.
func readSavedTurn(items []history.Item) (savedTurn, error) {
	s := savedTurn{agents: map[string][]agentRecord{}, ends: map[string]agentEndRecord{}}
	for _, it := range items {
		if err := s.takeItem(it); err != nil {
			return savedTurn{}, fmt.Errorf("%w: a record %s", errLost, it.Kind)
		}
	}
	return s, nil
}

// takeItem adds one item of the journal to the turn.
func (s *savedTurn) takeItem(it history.Item) error {
	version := func(v int, err error) error {
		if err == nil && v != recordVersion {
			return errLost
		}
		return err
	}
	switch it.Kind {
	case keptRequest: // of a turn that was begun twice, the newest counts
		*s = savedTurn{text: string(it.Data), agents: map[string][]agentRecord{}, ends: map[string]agentEndRecord{}}
	case recordOpen:
		err := json.Unmarshal(it.Data, &s.open)
		return version(s.open.V, err)
	case recordRound:
		var r roundRecord
		err := json.Unmarshal(it.Data, &r)
		s.rounds = append(s.rounds, r)
		if r.Number != len(s.rounds) {
			return errLost
		}
		return version(r.V, err)
	case recordAgentRound:
		var r agentRecord
		err := json.Unmarshal(it.Data, &r)
		if n := len(s.agents[r.Grant]); n > 0 && s.agents[r.Grant][n-1].Round.Number == r.Round.Number {
			s.agents[r.Grant] = s.agents[r.Grant][:n-1] // it was written again: whether it had been kept wasn't known
		}
		s.agents[r.Grant] = append(s.agents[r.Grant], r)
		return version(r.V, err)
	case recordAgentEnd:
		var r agentEndRecord
		err := json.Unmarshal(it.Data, &r)
		s.ends[r.Grant] = r
		return version(r.V, err)
	case recordEnd:
		s.end = &endRecord{}
		err := json.Unmarshal(it.Data, s.end)
		return version(s.end.V, err)
	}
	return nil
}

// sumAgentSpending is what the agents had spent when they last wrote something down.
func (s savedTurn) sumAgentSpending() map[string]Spent {
	out := map[string]Spent{}
	for grant, rounds := range s.agents {
		out[grant] = rounds[len(rounds)-1].Spent
	}
	for grant, end := range s.ends {
		out[grant] = end.Spent
	}
	return out
}
