package intake

import (
	"context"
	"time"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// Archive answers questions about all requests from the ledger: for auditors, of all users. It holds no
// values. Pipeline.Look has those, for the user alone.
type Archive struct{ Ledger *ledger.Reader }

// Filter picks requests. Fields that are empty pick all.
type Filter struct {
	User, Session string
	// Outcome is that of a request's first record: accepted, pending_confirmation, pending_approval, blocked, denied or
	// failed.
	Outcome string
	// Code is that of its first record.
	Code string
	// Since and Until bound the time of the first record: Since <= time < Until.
	Since, Until time.Time
	// After leaves out requests up to that index; Newest turns the order round.
	After  *int64
	Newest bool
	// Limit is how many are returned at most. Zero is 100; at most 1000.
	Limit int
}

func (f Filter) query() ledger.Query {
	return ledger.Query{
		Kind: RecordRequest, User: f.User, Conversation: f.Session, Outcome: f.Outcome, Code: f.Code, Since: f.Since, Until: f.Until,
		AfterIndex: f.After, Newest: f.Newest, Limit: f.Limit,
	}
}

// Summary is one request as its records tell of it.
type Summary struct {
	Index   int64     `json:"index"`
	Request string    `json:"request_id"`
	At      time.Time `json:"at"`
	User    string    `json:"user"`
	Session string    `json:"session"`
	// Outcome and Gate are those of its first record, Status and Code where it stands now.
	Outcome string `json:"outcome"`
	Gate    string `json:"gate,omitempty"`
	Status  Status `json:"status"`
	Code    string `json:"code,omitempty"`
	// Elevated says what an approver's question came to; empty where none was answered.
	Elevated string `json:"elevation,omitempty"`
	// Intent is the id of its trusted intent.
	Intent string `json:"intent,omitempty"`
}

// List returns the requests that a filter picks, in the order in which they came.
func (a Archive) List(ctx context.Context, f Filter) ([]Summary, error) {
	list, err := a.Ledger.List(ctx, f.query())
	if err != nil {
		return nil, err
	}
	out := make([]Summary, 0, len(list))
	for _, r := range list {
		chain, err := a.Chain(ctx, r.Call)
		if err != nil {
			return nil, err
		}
		if s := readChain(chain); s != nil {
			out = append(out, summarize(r, s))
		}
	}
	return out, nil
}

// Chain returns the records of one request, in their order. No such request is an empty list.
func (a Archive) Chain(ctx context.Context, request string) ([]ledger.Record, error) {
	if request == "" {
		return nil, nil
	}
	return a.Ledger.List(ctx, ledger.Query{Call: request, Limit: maxChain})
}

// Counts are how many requests there were.
type Counts struct {
	Requests int64     `json:"requests"`
	First    time.Time `json:"first,omitzero"`
	Last     time.Time `json:"last,omitzero"`
	// Outcomes counts the first records, Gates the stages that stopped or held them.
	Outcomes map[string]int64 `json:"outcomes"`
	Gates    map[string]int64 `json:"gates"`
	// Elevations, Confirmations and Ends count what became of those that were asked about or acted.
	Elevations    map[string]int64 `json:"elevations"`
	Confirmations map[string]int64 `json:"confirmations"`
	Ends          map[string]int64 `json:"ends"`
	Trusted       int64            `json:"trusted"`
}

// Stats counts requests by user, session and time; the other fields of the filter are ignored. The time is that of each
// record.
func (a Archive) Stats(ctx context.Context, f Filter) (Counts, error) {
	var out Counts
	for kind, into := range map[string]func(ledger.Stats){
		RecordRequest: func(s ledger.Stats) {
			out.Requests, out.First, out.Last, out.Outcomes, out.Gates = s.Records, s.First, s.Last, s.Outcomes, s.Gates
		},
		RecordElevation:    func(s ledger.Stats) { out.Elevations = s.Outcomes },
		RecordConfirmation: func(s ledger.Stats) { out.Confirmations = s.Outcomes },
		RecordTrusted:      func(s ledger.Stats) { out.Trusted = s.Records },
		RecordEnd:          func(s ledger.Stats) { out.Ends = s.Outcomes },
	} {
		s, err := a.Ledger.Stats(ctx, ledger.Query{Kind: kind, User: f.User, Conversation: f.Session, Since: f.Since, Until: f.Until})
		if err != nil {
			return Counts{}, err
		}
		into(s)
	}
	return out, nil
}
