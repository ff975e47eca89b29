package intake

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// maxChain bounds the records of one request that are read. A request has five at most.
const maxChain = 50

// state is a request as its records tell of it.
type state struct {
	owner  owner
	at     time.Time
	status Status
	code   string
	// elevation is what an approver's question came to; trusted is set where there is such a record.
	elevation string
	trusted   bool
	intentID  string

	// What the journal has; nil and empty where it is gone.
	kept          *keptRequest
	text          string
	hasText       bool
	token, result []byte
}

// readState reads a request of a user; an empty user is the program itself. The error is ErrUnknownRequest, or the store's.
func (k *book) readState(ctx context.Context, request, user string) (*state, error) {
	if request == "" {
		return nil, ErrUnknownRequest
	}
	list, err := k.o.Ledger.List(ctx, ledger.Query{Call: request, Limit: maxChain})
	if err != nil {
		return nil, err
	}
	s := readChain(list)
	if s == nil || user != "" && s.owner.user != user {
		return nil, ErrUnknownRequest
	}
	values, err := k.o.Journal.ByCall(ctx, request)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if v.User != s.owner.user || v.Conversation != s.owner.session {
			continue
		}
		switch v.Kind {
		case valueRequest:
			var one keptRequest
			if json.Unmarshal(v.Data, &one) == nil && one.V == 1 {
				s.kept = &one
			}
		case valueText:
			s.text, s.hasText, s.owner.text = string(v.Data), true, v.ID
		case valueToken:
			s.token = v.Data
		case valueResult:
			s.result = v.Data
		}
	}
	return s, nil
}

// readChain reads where a request stands from its records; nil where there are none.
func readChain(list []ledger.Record) *state {
	var s *state
	for _, r := range list {
		switch r.Kind {
		case RecordRequest:
			s = &state{owner: owner{request: r.Call, user: r.User, session: r.Conversation}, at: r.Time, status: Status(r.Outcome), code: r.Code}
			if r.Outcome == outcomeAccepted {
				s.status = Running
			}
		case RecordElevation, RecordTrusted, RecordEnd:
			if s != nil {
				s.add(r)
			}
		}
	}
	return s
}

// add adds what a later record says.
func (s *state) add(r ledger.Record) {
	switch r.Kind {
	case RecordElevation:
		s.elevation = r.Outcome
	case RecordTrusted:
		var b trustedBody
		_ = json.Unmarshal(r.Body, &b) // its id is left out then
		s.trusted, s.intentID, s.status = true, b.Intent, Running
	case RecordEnd:
		s.status, s.code = Status(r.Outcome), r.Code
	}
}

// answerOf is where a request stands by its records.
func (k *book) answerOf(s *state) Answer {
	a := Answer{RequestID: s.owner.request, Status: s.status, Code: s.code, Trusted: s.token, Result: s.result}
	if s.kept == nil {
		return a
	}
	info := s.kept.Info
	a.Info = &info
	if s.status == s.kept.Status {
		a.Message = s.kept.Message
	}
	if s.status == PendingConfirmation && s.kept.Canonical != nil {
		if i, err := k.o.Vocabulary.Build(*s.kept.Canonical); err == nil {
			a.Confirmation = &Confirmation{Digest: i.Digest(), Fields: setFields(i), Reasons: s.kept.Reasons, Expires: s.kept.Expires}
		}
	}
	return a
}

// asked is whose the request is, and what was asked, as far as it is kept.
func (s *state) asked() asked {
	a := asked{owner: s.owner, text: s.text, hasText: s.hasText}
	if s.kept != nil {
		a.by, a.principal, a.turn = s.kept.By, s.kept.Principal, s.kept.Turn
	}
	return a
}

// waitingOf is a request that waits for an approver, as it was kept. The error says that what was kept is gone.
func (k *book) waitingOf(s *state) (*waiting, error) {
	if s.kept == nil || s.kept.Canonical == nil || len(s.kept.Reasons) == 0 {
		return nil, errors.New("what was kept of the request is gone")
	}
	i, err := k.o.Vocabulary.Build(*s.kept.Canonical)
	if err != nil {
		return nil, err
	}
	w := &waiting{
		asked: s.asked(), reason: s.kept.Reasons[0], why: s.kept.Reasons[1:], canonical: candidate{s.kept.Parser, i}, resumed: true,
		approved: s.elevation == approved,
	}
	for _, one := range s.kept.Parsers {
		if one.Parser == s.kept.Parser {
			continue
		}
		built, err := k.o.Vocabulary.Build(one.Draft)
		if err != nil {
			return nil, err
		}
		w.candidates = append(w.candidates, candidate{one.Parser, built})
	}
	return w, nil
}
