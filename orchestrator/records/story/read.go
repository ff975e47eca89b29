package story

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// Records is a ledger that is read: *ledger.Reader and *ledger.Ledger are.
type Records interface {
	Get(ctx context.Context, idOrPrefix string) (ledger.Record, error)
	List(ctx context.Context, q ledger.Query) ([]ledger.Record, error)
}

const (
	version = 1
	// maxRecords is how many records of one call are read.
	maxRecords = 1000
	// maxBefore and maxAfter are how many records of the conversation are read around the decision.
	maxBefore, maxAfter = 400, 200
	// maxSteps and maxOthers are how many calls a story names, maxOthers on either side.
	maxSteps, maxOthers = 50, 25
	// maxReadings is how many readings a story names.
	maxReadings = 20
)

// Find returns a record by its id or the start of it, else the first of a call or a decision with the
// whole id. The errors are those of ledger.Reader.Get.
func Find(ctx context.Context, l Records, id string) (ledger.Record, error) {
	rec, err := l.Get(ctx, id)
	if !errors.Is(err, ledger.ErrNotFound) {
		return rec, err
	}
	for _, q := range []ledger.Query{{Call: id, Limit: 1}, {Decision: id, Limit: 1}} {
		found, lerr := l.List(ctx, q)
		if lerr != nil || len(found) > 0 {
			return append(found, rec)[0], lerr
		}
	}
	return rec, err
}

// Read tells what the ledger holds of a call, and no value. id is as in Find.
func Read(ctx context.Context, l Records, id string) (Story, error) {
	s := Story{V: version, Related: []ledger.Record{}, Gates: []Gate{}, Steps: []Step{}, Others: []Other{}, Readings: []Reading{}}
	s.Values.setAll(Text{State: None, Why: "the record is about no call"})
	var err error
	if s.Record, err = Find(ctx, l, id); err != nil || s.Record.Call == "" {
		return s, err
	}
	all, err := l.List(ctx, ledger.Query{Call: s.Record.Call, Limit: maxRecords})
	if err != nil {
		return s, err
	}
	for i := range all {
		if all[i].ID != s.Record.ID && all[i].Kind != label.RecordLabelled { // a second reviewer is blind to the first
			s.Related = append(s.Related, all[i])
		}
	}
	main := chooseDecision(all, s.Record.Decision)
	if main == nil {
		return s, nil
	}
	s.readDecision(main)
	s.readEnd(all)
	return s, errors.Join(s.readErasure(ctx, l, main), s.readNeighbours(ctx, l, main), s.readReadings(ctx, l, main))
}

// chooseDecision returns the record that says most of a decision: nil where there is none.
func chooseDecision(all []ledger.Record, decision string) (best *ledger.Record) {
	rank := map[string]int{sentinel.RecordRefused: 1, sentinel.RecordHeld: 2, sentinel.RecordDecision: 3, sentinel.RecordShadow: 3}
	for i := range all {
		r := &all[i]
		if decision == "" || r.Decision != decision || rank[r.Kind] == 0 {
			continue
		}
		if best == nil || rank[r.Kind] >= rank[best.Kind] {
			best = r
		}
	}
	return best
}

// decisionBody is what is read of a decision's record.
type decisionBody struct {
	Grant      string    `json:"grant"`
	Turn       string    `json:"turn"`
	Remote     string    `json:"remote"`
	Effect     string    `json:"effect"`
	Outward    bool      `json:"outward"`
	Tainted    bool      `json:"tainted"`
	MissionBy  string    `json:"mission_by"`
	Policy     string    `json:"policy"`
	Digest     string    `json:"digest"`
	Names      []string  `json:"arg_names"`
	Undeclared int       `json:"undeclared"`
	Bytes      int       `json:"arg_bytes"`
	Flags      []Flag    `json:"flags"`
	Modified   *Rewrite  `json:"modified"`
	Reason     string    `json:"reason"`
	Degraded   bool      `json:"degraded"`
	ElapsedUS  int64     `json:"elapsed_us"`
	Deviation  *int      `json:"deviation"`
	Drift      *int      `json:"drift"`
	AgentKey   string    `json:"agent_key"`
	Asked      time.Time `json:"asked_at"`
	Expires    time.Time `json:"expires_at"`
	Answered   time.Time `json:"answered_at"`
	Approver   string    `json:"approver"`
	Via        string    `json:"via"`
	Gates      []struct {
		Gate
		Evidence []struct {
			Signal string   `json:"signal"`
			Amount int      `json:"amount"`
			Args   []string `json:"args"`
			Doubt  bool     `json:"doubt"`
		} `json:"evidence"`
		Doubt *struct {
			State string `json:"state"`
		} `json:"doubt"`
	} `json:"gates"`
}

// readDecision tells the decision.
func (s *Story) readDecision(r *ledger.Record) {
	var b decisionBody
	decodeBody(r, &b)
	s.index = r.Index
	s.About = &Call{
		Decided: r.ID, At: r.Time, Kind: r.Kind, ID: r.Call, Decision: r.Decision, Outcome: r.Outcome, Gate: r.Gate, Code: r.Code,
		Reason: b.Reason, Skill: r.Skill, Effect: b.Effect, User: r.User, Agent: r.Agent, Conversation: r.Conversation, Turn: b.Turn,
		Grant: b.Grant, Remote: b.Remote, MissionBy: b.MissionBy, Outward: b.Outward, Tainted: b.Tainted, Degraded: b.Degraded,
		Policy: b.Policy, Digest: b.Digest, Names: notNil(b.Names), Undeclared: b.Undeclared, Bytes: b.Bytes, Flags: notNil(b.Flags),
		Rewritten: b.Modified, ElapsedUS: b.ElapsedUS, Deviation: b.Deviation, Drift: b.Drift, AgentKey: b.AgentKey,
	}
	if !b.Asked.IsZero() {
		s.Question = &Question{Asked: b.Asked, Expires: b.Expires, Answered: b.Answered, Approver: b.Approver, Via: b.Via}
		if b.Answered.After(b.Asked) {
			s.Question.WaitedMS = b.Answered.Sub(b.Asked).Milliseconds()
		}
	}
	s.readGates(&b)
}

// readGates tells what each gate said.
func (s *Story) readGates(b *decisionBody) {
	for _, g := range b.Gates {
		one := g.Gate
		one.Signals = []Signal{}
		for _, e := range g.Evidence {
			signal := Signal{Signal: e.Signal, Words: explainSignal(e.Signal), Amount: e.Amount, Args: e.Args}
			if e.Doubt {
				signal.Doubt = sentinel.DoubtOpen.String()
			}
			if e.Doubt && g.Doubt != nil && g.Doubt.State != "" {
				signal.Doubt = g.Doubt.State
			}
			one.Signals = append(one.Signals, signal)
		}
		s.Gates = append(s.Gates, one)
	}
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// endBody is what is read of an outcome's record.
type endBody struct {
	Bytes     int      `json:"bytes"`
	Trust     string   `json:"trust"`
	Isolation string   `json:"isolation"`
	Marks     []string `json:"marks"`
	ElapsedUS int64    `json:"elapsed_us"`
}

// readEnd tells what became of the call.
func (s *Story) readEnd(all []ledger.Record) {
	for i := range all {
		r := &all[i]
		if r.Kind != sentinel.RecordOutcome || r.Decision != s.About.Decision {
			continue
		}
		var b endBody
		decodeBody(r, &b)
		s.End = &End{Record: r.ID, At: r.Time, Status: r.Outcome, Code: r.Code, Bytes: b.Bytes, Trust: b.Trust, Isolation: b.Isolation,
			Marks: b.Marks, ElapsedUS: b.ElapsedUS}
	}
}

// readErasure says of all values that they are sealed, or erased where a purge of the conversation came
// later. A purge of the user is looked for where values are missing: a user may have a million records.
func (s *Story) readErasure(ctx context.Context, l Records, main *ledger.Record) error {
	gone := Text{State: Sealed, Why: "it is sealed in the journal, as long as that keeps it"}
	if main.Conversation != "" {
		purged, err := findPurge(ctx, l, ledger.Query{Conversation: main.Conversation, AfterIndex: &main.Index})
		if err != nil {
			return err
		}
		if purged.State == Erased {
			gone = purged
		}
	}
	s.Values.setAll(gone)
	for i := range s.Gates {
		s.Gates[i].Said = gone
	}
	if main.Kind == sentinel.RecordRefused {
		s.sayNone("the proposal became no call: nothing of it is kept")
	}
	return nil
}

// findPurge says that a purge erased a value, where one of the query's is on record. Else it is zero.
func findPurge(ctx context.Context, l Records, q ledger.Query) (Text, error) {
	q.Kind, q.Limit = sentinel.RecordPurge, 1
	list, err := l.List(ctx, q)
	if err != nil || len(list) == 0 {
		return Text{}, err
	}
	return Text{State: Erased, Why: fmt.Sprintf("it was erased by the purge of %s (record %s)",
		list[0].Time.UTC().Format(time.RFC3339), list[0].ID)}, nil
}

// sayNone says of the values of the call itself that there never were any.
func (s *Story) sayNone(why string) {
	none := Text{State: None, Why: why}
	request := s.Values.Request
	s.Values.setAll(none)
	s.Values.Request = request // of the turn
	for i := range s.Gates {
		s.Gates[i].Said = none
	}
}

// setAll gives all values one state.
func (v *Values) setAll(t Text) {
	v.Touches = []sentinel.Touched{}
	for _, p := range v.list() {
		*p = t
	}
}

// list returns the places of all values.
func (v *Values) list() []*Text {
	return []*Text{
		&v.Request, &v.Before, &v.Mission, &v.Arguments, &v.Proposed, &v.Skill, &v.Evidence, &v.TouchState, &v.Result, &v.Failure,
	}
}

// readNeighbours tells the conversation's other calls, and the steps of the turn among them.
func (s *Story) readNeighbours(ctx context.Context, l Records, main *ledger.Record) error {
	if main.Conversation == "" {
		return nil
	}
	before, err := l.List(ctx, ledger.Query{Conversation: main.Conversation, Newest: true, AfterIndex: &main.Index, Limit: maxBefore})
	if err != nil {
		return err
	}
	after, err := l.List(ctx, ledger.Query{Conversation: main.Conversation, AfterIndex: &main.Index, Limit: maxAfter})
	if err != nil {
		return err
	}
	slices.Reverse(before)
	earlier, later := listCalls(before, s.About), listCalls(slices.Concat(before, after), s.About)
	for _, c := range earlier {
		if c.end != nil && c.turn == s.About.Turn && c.turn != "" {
			s.Steps = append(s.Steps, c.newStep(s.About.Grant))
		}
	}
	s.MoreSteps = len(before) == maxBefore || len(s.Steps) > maxSteps
	s.Steps = s.Steps[max(0, len(s.Steps)-maxSteps):]
	place := 0
	for _, c := range later {
		if c.decided.Index < main.Index {
			place++
		}
		s.Others = append(s.Others, c.newOther())
	}
	from, to := max(0, place-maxOthers), min(len(s.Others), place+maxOthers)
	s.MoreOthers = len(before) == maxBefore || len(after) == maxAfter || from > 0 || to < len(s.Others)
	s.Others = s.Others[from:to]
	return nil
}

// neighbour is another call of the conversation.
type neighbour struct {
	decided     *ledger.Record
	end         *ledger.Record // nil where nothing ran, or runs still
	turn, grant string
}

// listCalls puts the records of calls together, in the order in which the calls were first decided. The
// call itself and those of other users are left out.
func listCalls(list []ledger.Record, about *Call) []*neighbour {
	byDecision := map[string]*neighbour{}
	var out []*neighbour
	for i := range list {
		r := &list[i]
		if r.User != about.User || r.Call == about.ID || r.Decision == "" {
			continue
		}
		n := byDecision[r.Decision]
		switch r.Kind {
		case sentinel.RecordDecision, sentinel.RecordHeld, sentinel.RecordRefused, sentinel.RecordShadow:
			if n == nil {
				n = &neighbour{}
				byDecision[r.Decision] = n
				out = append(out, n)
			}
			var b struct{ Turn, Grant string }
			decodeBody(r, &b)
			n.decided, n.turn, n.grant = r, b.Turn, b.Grant
		case sentinel.RecordOutcome:
			if n != nil {
				n.end = r
			}
		}
	}
	return out
}

func (n *neighbour) newStep(grant string) Step {
	var b endBody
	decodeBody(n.end, &b)
	return Step{
		Record: n.decided.ID, At: n.end.Time, Agent: n.decided.Agent, Own: n.grant == grant, Skill: n.decided.Skill, Status: n.end.Outcome,
		Trust: b.Trust, Bytes: b.Bytes, call: n.decided.Call, time: n.decided.Time,
	}
}

func (n *neighbour) newOther() Other {
	r := n.decided
	o := Other{Record: r.ID, At: r.Time, Agent: r.Agent, Skill: r.Skill, Outcome: r.Outcome, Gate: r.Gate, Code: r.Code}
	if n.end != nil {
		o.Status = n.end.Outcome
	}
	return o
}

// readingBody is what the ledger holds of a reading.
type readingBody struct {
	V        int    `json:"v"`
	By       string `json:"by"`
	Via      string `json:"via"`
	Record   string `json:"record"`
	Decision string `json:"decision"`
	Call     string `json:"call"`
}

// readReadings tells who was shown values of the call before.
func (s *Story) readReadings(ctx context.Context, l Records, main *ledger.Record) error {
	if main.Conversation == "" {
		return nil
	}
	list, err := l.List(ctx, ledger.Query{
		Conversation: main.Conversation, Kind: sentinel.RecordValuesRead, Newest: true, Limit: maxRecords,
	})
	for i := range list {
		var b readingBody
		if decodeBody(&list[i], &b); b.Call == s.About.ID && len(s.Readings) < maxReadings {
			s.Readings = append(s.Readings, Reading{list[i].ID, list[i].Time, b.By, b.Via})
		}
	}
	return err
}
