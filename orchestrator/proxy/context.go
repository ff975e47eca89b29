package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// surroundings are what a request says of where its calls come from.
type surroundings struct {
	request *string
	human   bool
	said    []sentinel.EarlierTurn
	turn    string
	// now and before are results that are no forwarded call's, of this turn and of earlier ones.
	now, before []handover.Result
}

// A request's conversation, as far as it tells something of its calls.
type conversationReader struct {
	steps  []wire.Step
	last   int                  // the newest user turn, -1 for none
	calls  map[string]wire.Step // by the provider's id
	wrote  func(text string) bool
	human  bool
	lookUp func(wireID string) string
}

// newReader reads the steps of a request.
func newReader(steps []wire.Step, human bool, wrote func(string) bool, lookUp func(string) string) *conversationReader {
	r := &conversationReader{steps: steps, last: -1, calls: map[string]wire.Step{}, wrote: wrote, human: human, lookUp: lookUp}
	for i, s := range steps {
		switch s.Kind {
		case wire.User:
			r.last = i
		case wire.Call:
			if s.ID != "" {
				r.calls[s.ID] = s
			}
		}
	}
	return r
}

// listResults returns the results that may be those of forwarded calls: the ones behind the model's newest calls. at are
// their places among the steps.
func (r *conversationReader) listResults() (list []handover.ToolResult, at []int) {
	from := len(r.steps)
	for from > 0 && r.steps[from-1].Kind != wire.Call {
		from--
	}
	for from > 0 && r.steps[from-1].Kind == wire.Call {
		from--
	}
	for i := from; i < len(r.steps); i++ {
		s := r.steps[i]
		if s.Kind != wire.Result {
			continue
		}
		call := r.callOf(s)
		t := handover.ToolResult{ID: r.lookUp(s.ID), Arguments: call.Args, Failed: s.Failed, Text: s.Text}
		if t.Skill, _ = skills.NameTool(call.Name); t.Skill == "" && t.ID == "" {
			continue
		}
		list, at = append(list, t), append(at, i)
	}
	return list, at
}

// callOf returns the call that a result is of: by the provider's id, or by the tool's name where the format has no ids.
func (r *conversationReader) callOf(result wire.Step) wire.Step {
	if result.ID != "" {
		return r.calls[result.ID]
	}
	for i := len(r.steps) - 1; i >= 0; i-- {
		if s := r.steps[i]; s.Kind == wire.Call && s.ID == "" && s.Name == result.Name {
			return s
		}
	}
	return wire.Step{Name: result.Name}
}

// Bounds of what is told of a request's results.
const (
	mostResults     = 48
	mostResultBytes = 256 << 10
	mostResult      = 64 << 10
	mostRequest     = 64 << 10
)

// read returns what the request says. known are the places of results that are forwarded calls'.
func (r *conversationReader) read(known map[int]bool) surroundings {
	s := surroundings{}
	r.readTurns(&s)
	s.turn = r.nameTurn()
	left := mostResultBytes
	for i := len(r.steps) - 1; i >= 0 && len(s.now)+len(s.before) < mostResults; i-- {
		step := r.steps[i]
		if step.Kind != wire.Result || known[i] {
			continue
		}
		text := step.Text[:min(len(step.Text), mostResult)]
		if left -= len(text); left < 0 {
			break
		}
		call := r.callOf(step)
		skill, _ := skills.NameTool(call.Name)
		result := handover.Result{Skill: skill, Result: text}
		if _, _, err := sentinel.CanonicalArgs(call.Args); err == nil {
			result.Arguments = call.Args
		}
		if i > r.last {
			s.now = append([]handover.Result{result}, s.now...)
		} else {
			s.before = append([]handover.Result{result}, s.before...)
		}
	}
	return s
}

// readTurns reads what the user said. Words that a model wrote into a call, such as the task of an agent below, are no
// user's.
func (r *conversationReader) readTurns(s *surroundings) {
	read := false
	for i, step := range r.steps {
		switch step.Kind {
		case wire.Result, wire.Foreign:
			read = true
			for j := range s.said[max(0, len(s.said)-1):] {
				s.said[len(s.said)-1+j].Tainted = true
			}
		case wire.User:
			text := step.Text[:min(len(step.Text), mostRequest)]
			own := r.human && !r.wrote(text)
			switch {
			case i == r.last:
				s.request, s.human = &text, own
			case own:
				s.said = append(s.said, sentinel.EarlierTurn{Words: text, Tainted: read})
			}
		}
	}
	if n := len(s.said); n > sentinel.MaxEarlierTurns { // the first says what all of it is for
		s.said = append(s.said[:1:1], s.said[n-sentinel.MaxEarlierTurns+1:]...)
	}
}

// readForeign reports whether the request holds text of others that is no tool's result, or a result that is no
// forwarded call's: of this turn, and of earlier ones.
func (r *conversationReader) readForeign(known map[int]bool) (now, before bool) {
	for i, s := range r.steps {
		if s.Kind != wire.Foreign && (s.Kind != wire.Result || known[i]) {
			continue
		}
		if i > r.last {
			now = true
		} else {
			before = true
		}
	}
	return now, before
}

// nameTurn names the newest user turn of the conversation: the same in each request that goes on with it.
func (r *conversationReader) nameTurn() string {
	if r.last < 0 {
		return ""
	}
	n := 0
	for _, s := range r.steps {
		if s.Kind == wire.User {
			n++
		}
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(n) + "\n" + r.steps[r.last].Text))
	return hex.EncodeToString(sum[:16])
}
