package sentinel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// RemoteReport is what a program says of a call that it ran.
type RemoteReport struct {
	// Failed says that the call ran and failed: Text is what it failed with, otherwise its result.
	Failed bool
	Text   string
	// Untrusted says that Text is a client's word, whatever its skill's results are.
	Untrusted bool
}

// CodeUnreported is the code of the outcome of a call that its caller didn't report in time. Its
// status is StatusUnknown.
const CodeUnreported = "unreported"

// Errors of RemoteDesk.Report.
var (
	// ErrNoCall means that no call of that id is on record in the conversation.
	ErrNoCall = errors.New("no such call is on record")
	// ErrNotAllowed means that the call was not allowed.
	ErrNotAllowed = errors.New("the call was not allowed")
	// ErrReported means that another outcome is on record.
	ErrReported = errors.New("another outcome of the call is on record")
	// ErrLate means that the time to report is over.
	ErrLate = errors.New("the time to report the call is over")
)

// remotePast is what is on record of a call that another program ran.
type remotePast struct {
	principal string
	reportBy  time.Time
	report    string // keyed digest of what was reported
	body      []byte // of the decision
	approval  string // the id of the question to a person
}

// readRemote reads what a decision's record says of a call that another program runs.
func (r Record) readRemote() remotePast {
	var b struct {
		Remote   string    `json:"remote"`
		ReportBy time.Time `json:"report_by"`
		AskedAt  time.Time `json:"asked_at"`
	}
	if json.Unmarshal(r.Body, &b) != nil || b.Remote == "" {
		return remotePast{}
	}
	p := remotePast{principal: b.Remote, reportBy: b.ReportBy, body: r.Body}
	if !b.AskedAt.IsZero() {
		p.approval = r.DecisionID
	}
	return p
}

// Approval is the id of the question to a person; empty where none was asked.
func (p Past) Approval() string { return p.remote.approval }

// ReportBy is until when the caller of an allowed call may say what became of it.
func (p Past) ReportBy() time.Time { return p.remote.reportBy }

// IsOpen reports whether a call was handed over and nothing is known of it yet.
func (p Past) IsOpen() bool {
	return p.Allowed && p.remote.principal != "" && p.Status == StatusUnknown && p.Code == ""
}

// Line returns the decision on record in the form of the check contract, without its digest; ok is
// false where there is none.
func (p Past) Line(id string) (l Line, ok bool) {
	var b struct {
		Outcome      Outcome
		BlockedBy    string `json:"blocked_by"`
		Code, Reason string
		Degraded     bool
		ElapsedUS    int64 `json:"elapsed_us"`
		Gates        []struct {
			Gate, Outcome, Code string
			Score               *int
			ElapsedUS           int64 `json:"elapsed_us"`
		}
	}
	if p.remote.body == nil || json.Unmarshal(p.remote.body, &b) != nil {
		return Line{}, false
	}
	d := Decision{Outcome: b.Outcome, BlockedBy: b.BlockedBy, Code: b.Code, Reason: b.Reason, Degraded: b.Degraded,
		Elapsed: time.Duration(b.ElapsedUS) * time.Microsecond}
	l = d.Line(id)
	for _, g := range b.Gates {
		line := GateLine{Gate: g.Gate, Outcome: g.Outcome, Code: g.Code, ElapsedUS: g.ElapsedUS}
		if g.Score != nil {
			s := float64(*g.Score) / 100
			line.Score = &s
		}
		l.Gates = append(l.Gates, line)
	}
	return l, true
}

// Words is what was reported of a call: its result, or what it failed with.
func (p Past) Words() string {
	if p.Status == StatusOK {
		return p.Result.Content
	}
	return p.failure
}

// PastCall returns what is on record of the call of that id; ok is false where it was never decided.
func (r *RemoteDesk) PastCall(ctx context.Context, id string) (p Past, ok bool, err error) {
	return r.desk.p.readHistory(ctx, id, 0)
}

// Recall brings back what was recorded of the conversation's calls, in the order of their ends: trace,
// refusals and taint. It returns those that were handed over and of which nothing is known. It must
// be called once, before the desk is used. An error means that the desk must not be used.
func (r *RemoteDesk) Recall(ctx context.Context, calls []string) (open []Past, err error) {
	p := r.desk.p
	for _, id := range calls {
		list, err := p.o.History.Past(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("%w: the conversation's calls could not be read: %w", ErrNotRecorded, err)
		}
		for _, rec := range list {
			if b, _ := rec.readProposal(); b.Tainted {
				r.desk.Taint()
			}
		}
		past, found := readPast(id, list)
		if !found {
			continue
		}
		if past.IsOpen() || past.IsForwarded() {
			open = append(open, past)
			continue
		}
		r.desk.rememberPast(past)
	}
	return open, nil
}

// Report takes down what became of a call that was handed over. The result has the trust of its
// skill. It taints the conversation, and it is in the trace of later calls. The same report once more
// changes nothing. ErrNoCall, ErrNotAllowed, ErrReported, ErrLate and ErrNotRecorded say why nothing
// was taken down.
func (r *RemoteDesk) Report(ctx context.Context, id string, rep RemoteReport) (Past, error) {
	p := r.desk.p
	leave, err := p.locks.lockCall(ctx, id)
	if err != nil {
		return Past{}, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	defer leave()
	list, past, err := r.readCall(ctx, id)
	if err != nil {
		return past, err
	}
	sum := p.records.keyedDigest(fmt.Sprintf("report\n%t\n%s", rep.Failed, rep.Text))
	switch {
	case !past.Allowed:
		return past, ErrNotAllowed
	case past.remote.report == sum:
		return past, nil
	case past.Code == CodeUnreported:
		return past, ErrLate
	case past.IsForwarded():
		return r.recordReport(ctx, list, past, rep, sum)
	case !past.IsOpen():
		return past, ErrReported
	case !p.now().Before(past.remote.reportBy):
		past, err := r.endUnreported(ctx, list)
		return past, errors.Join(err, ErrLate)
	}
	return r.recordReport(ctx, list, past, rep, sum)
}

// readCall reads the records of a call of this conversation.
func (r *RemoteDesk) readCall(ctx context.Context, id string) ([]Record, Past, error) {
	list, err := r.desk.p.o.History.Past(ctx, id)
	if err != nil {
		return nil, Past{}, fmt.Errorf("%w: the records of the call could not be read: %w", ErrNotRecorded, err)
	}
	past, found := readPast(id, list)
	g := r.desk.Grant()
	switch {
	case len(list) == 0, list[0].User != g.User(), list[0].Conversation != g.Conversation():
		return nil, Past{}, ErrNoCall
	case !found:
		return list, past, ErrNotAllowed
	case past.remote.principal != g.Remote() && past.remote.principal != "":
		return nil, Past{}, ErrNoCall
	}
	return list, past, nil
}

// recordReport writes down what was reported.
func (r *RemoteDesk) recordReport(ctx context.Context, list []Record, past Past, rep RemoteReport, sum string) (Past, error) {
	p := r.desk.p
	decision := findAllowance(list)
	c, known := r.rebuildCall(past)
	text := strings.ToValidUTF8(rep.Text[:min(len(rep.Text), skills.MaxResult)], "\uFFFD")
	res := skills.Result{Content: text, Truncated: len(rep.Text) > skills.MaxResult, Isolation: "remote"}
	var failed error
	if rep.Failed {
		failed = &skills.Failure{Code: skills.FailFailed, Err: pastError(res.Content)}
	}
	b := outcomeBody{V: 1, DecisionID: decision.DecisionID, CallID: past.JudgedID, Report: sum,
		ElapsedUS: p.now().Sub(decision.At).Microseconds()}
	values := b.describeRun(c, res, failed)
	if !known || rep.Untrusted || b.Trust == string(skills.Trusted) && readsBack(ctx, p, c) {
		b.Trust = string(skills.Untrusted)
	}
	rec := endOf(decision, b, values, p.now())
	if err := p.writeRecord(ctx, rec); err != nil {
		return past, err
	}
	if !past.IsForwarded() {
		p.o.Limiter.Report(context.WithoutCancel(ctx), past.Skill, past.CallID, !rep.Failed)
	}
	p.tellObserver(Event{Call: c, Kind: RecordOutcome, Status: b.Status, Code: b.Code, Context: ctx,
		Elapsed: time.Duration(b.ElapsedUS) * time.Microsecond})
	return r.rememberEnd(append(list, rec)), nil
}

// rememberEnd adds to the trace what the records say of a call that is over.
func (r *RemoteDesk) rememberEnd(list []Record) Past {
	past, _ := readPast(list[0].CallID, list)
	r.desk.rememberPast(past)
	return past
}

// rebuildCall makes the call that is on record once more. known is false where its skill is gone, or
// its arguments were erased.
func (r *RemoteDesk) rebuildCall(past Past) (c Call, known bool) {
	p := r.desk.p
	s, ok := p.o.Registry.Get(past.Skill)
	if !ok {
		return Call{held: &callParts{skill: &skills.Skill{}, name: past.Skill}}, false
	}
	c, err := p.NewCall(Proposal{ID: past.JudgedID, Skill: past.Skill, Args: []byte(past.Args), Grant: r.desk.Grant()})
	if err != nil || past.Args == "" {
		return Call{held: &callParts{skill: s, name: past.Skill, grant: r.desk.Grant(), id: past.JudgedID}}, false
	}
	return c, true
}

// findAllowance returns the record that allowed the call.
func findAllowance(list []Record) (out Record) {
	for _, r := range list {
		if r.Kind == RecordDecision && r.Outcome == Allow.String() || r.Kind == RecordShadow {
			out = r
		}
	}
	return out
}

// EndUnreported records that a call is unknown which was handed over and not reported in time. It is
// remembered as one that returned something untrusted: its caller may have read the result. A call
// with an outcome, or with time left, stays as it is.
func (r *RemoteDesk) EndUnreported(ctx context.Context, id string) (Past, error) {
	p := r.desk.p
	leave, err := p.locks.lockCall(ctx, id)
	if err != nil {
		return Past{}, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	defer leave()
	list, past, err := r.readCall(ctx, id)
	if err != nil || !past.IsOpen() || p.now().Before(past.remote.reportBy) {
		return past, err
	}
	return r.endUnreported(ctx, list)
}

// endUnreported records it, under the call's lock.
func (r *RemoteDesk) endUnreported(ctx context.Context, list []Record) (Past, error) {
	p := r.desk.p
	decision := findAllowance(list)
	body, _ := decision.readProposal()
	b := outcomeBody{V: 1, DecisionID: decision.DecisionID, CallID: body.CallID, Status: StatusUnknown, Code: CodeUnreported}
	rec := endOf(decision, b, []Value{{"error", []byte(errUnreported.Error())}}, p.now())
	if err := p.writeRecord(ctx, rec); err != nil {
		return Past{}, err
	}
	p.releaseSlot(ctx, decision.Skill, decision.CallID)
	p.tellObserver(Event{Kind: RecordOutcome, Status: b.Status, Code: b.Code, Context: ctx})
	return r.rememberEnd(append(list, rec)), nil
}

var errUnreported = errors.New("its caller did not report in time; it may or may not have happened")

// EndQuestion ends, on record, the question about a call whose time is over and which its caller has
// not proposed again.
func (r *RemoteDesk) EndQuestion(ctx context.Context, id string) error {
	return r.desk.p.endHeld(ctx, id, CodeApprovalExpired, "no person answered in time")
}
