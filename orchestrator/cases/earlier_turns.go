package cases

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// oldestTurn is how far back the entries of a history may lie.
const oldestTurn = -1000

// pastResults is a line's history. The steps of the trace are of this turn alone, as those of
// a conversation are: what earlier turns brought grounds nothing. Of earlier turns the
// untrusted results are known, and which of the turns had some.
type pastResults struct {
	steps   []sentinel.Step       // of this turn
	earlier []sentinel.Step       // of turns before it
	results []sentinel.PastResult // the same, with the trusted ones
	trust   []string              // of each entry
	// turns are of each entry; nil where all are of this turn.
	turns   []int
	seen    int          // entries so far
	tainted map[int]bool // earlier turns with an untrusted result
}

// add adds an entry of a turn: 0 is this one, -1 the one before.
func (h *pastResults) add(s sentinel.Step, turn int) {
	if turn != 0 && h.turns == nil {
		h.turns = make([]int, h.seen)
	}
	if h.seen++; h.turns != nil {
		h.turns = append(h.turns, turn)
	}
	if turn != 0 {
		h.results = append(h.results, sentinel.PastResult{Step: s})
	}
	switch {
	case turn == 0:
		h.steps = append(h.steps, s)
	case s.Trust != skills.Trusted:
		h.earlier = append(h.earlier, s)
		if h.tainted == nil {
			h.tainted = map[int]bool{}
		}
		h.tainted[turn] = true
	}
}

// isTainted reports whether any turn has read what others could have written.
func (h *pastResults) isTainted() bool {
	return len(h.tainted) > 0 || sentinel.NewTrace(h.steps...).Untrusted()
}

// listEarlierTurns returns the turns before this one, oldest first: as many as there are
// earlier requests, and more where an entry of the history is older.
func (h *pastResults) listEarlierTurns(requests []string) []sentinel.EarlierTurn {
	n := len(requests)
	for _, turn := range h.turns {
		n = max(n, -turn)
	}
	out := make([]sentinel.EarlierTurn, n)
	for i := range out {
		if at := i - (n - len(requests)); at >= 0 {
			out[i].Words = requests[at]
		}
		out[i].Tainted = h.tainted[i-n]
	}
	return out
}

// readEarlierRequests reads what the user said before, oldest first.
func readEarlierRequests(v jsontext.Value) ([]string, *Error) {
	const at = "earlier_requests"
	items, err := readList(v, at)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(items))
	for i, item := range items {
		s, ok, err := ReadText(item, fmt.Sprintf("%s[%d]", at, i))
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, &Error{CodeType, fmt.Sprintf("%s[%d] must be a string", at, i)}
		}
		out[i] = s
	}
	return out, nil
}

// readTurn reads which turn an entry of a history is of.
func readTurn(v jsontext.Value, at string) (int, *Error) {
	if v == nil || v.Kind() == 'n' {
		return 0, nil
	}
	if v.Kind() != '0' {
		return 0, &Error{CodeType, at + " must be a number: 0 for this turn, -1 for the one before"}
	}
	n, err := strconv.Atoi(string(v))
	if err != nil || n > 0 || n < oldestTurn {
		return 0, &Error{CodeValue, fmt.Sprintf("%s must be a whole number from %d to 0: 0 is this turn, -1 the one before", at, oldestTurn)}
	}
	return n, nil
}
