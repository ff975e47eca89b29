package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// InboxOptions are the parts of an Inbox. Ledger and Journal must be those of Store.
type InboxOptions struct {
	Store   *store.Store
	Ledger  *ledger.Ledger
	Journal *journal.Journal
	// Key makes the digests that people answer. It must be the same after a restart.
	Key [32]byte
	// Skills finds a skill whose calls people may edit; nil refuses edits.
	Skills func(name string) (*skills.Skill, bool)
	// PolicyDigest names the configuration of decisions that name none: a standing approval holds under
	// the one that it was made under. Where both are empty, there are none.
	PolicyDigest string
	// Policy says who may answer; nil lets everybody who is authenticated, and one yes is enough. SetPolicy
	// exchanges it.
	Policy *Policy
	// Retention is how long sheets and feedback are kept after a question has expired. If zero, 7 days.
	Retention time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log is told of rows that are not what their seals say; nil discards.
	Log *slog.Logger
}

// defaultRetention is InboxOptions.Retention where it is zero.
const defaultRetention = 7 * 24 * time.Hour

// Inbox is an approver whose questions are rows in the database, and stay there over restarts.
// People answer them with Answer, from wherever the program lets them. An answer that comes while
// no call waits is kept, and counts once the call is asked about again. It is safe for concurrent
// use.
//
// The Inbox raises nothing by itself. The checkpoint judges the expiry, asks the rules again and
// compares what was bound, and the Inbox answers with what people said to exactly what they were
// shown. An answer counts by what is sealed of it, so a row that was changed in the database
// approves nothing.
type Inbox struct {
	o      InboxOptions
	policy atomic.Pointer[Policy]
	watch  watchers
	rows   waitingRows

	mu      sync.Mutex
	open    map[string]bool                   // ids without an end
	waiting map[string]map[chan struct{}]bool // of Approve, by id
	unnamed map[string]subject                // what waiting calls are of, where their rows hold no skill's name
	using   map[string]string                 // decisions that a standing approval makes, and which
}

// OpenInbox opens the inbox of a store. What an earlier process recorded of its questions is
// taken up. There can be one Inbox for each store: the error wraps store.ErrClaimed otherwise.
func OpenInbox(ctx context.Context, o InboxOptions) (*Inbox, error) {
	if o.Store == nil || o.Ledger == nil || o.Journal == nil {
		return nil, errors.New("the inbox needs a store, its ledger and its journal")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Retention <= 0 {
		o.Retention = defaultRetention
	}
	if err := o.Store.Claim("approvals"); err != nil {
		return nil, err
	}
	in := &Inbox{o: o, open: map[string]bool{}, waiting: map[string]map[chan struct{}]bool{}, unnamed: map[string]subject{},
		using: map[string]string{}}
	in.policy.Store(o.Policy)
	err := in.takeUpRows(ctx)
	if err == nil {
		err = in.recountOpen(ctx) // the rules of who may answer may be others than those of the process before
	}
	if err != nil {
		o.Store.Unclaim("approvals")
		return nil, fmt.Errorf("open the approvals: %w", err)
	}
	o.Store.OnCommit(func() {
		in.rows.onCommit()
		in.watch.publish(in.wakeWaiters)
	})
	return in, nil
}

// SetPolicy exchanges who may answer. It holds from now on, for questions that wait too: each counts its answers
// again, also one that no call waits on and one that has its yes and whose call has not started. A question that too
// few people may approve by now is sentinel.ErrNoApprover to its call.
func (in *Inbox) SetPolicy(p *Policy) {
	in.policy.Store(p)
	if err := in.recountOpen(context.Background()); err != nil { // each counts again when its call asks, all the same
		in.o.Log.Error("questions could not be counted again by who may answer now; they show what was needed before", "error", err)
	}
	in.mu.Lock()
	ids := slices.Collect(maps.Keys(in.waiting))
	in.mu.Unlock()
	for _, id := range ids {
		in.wakeWaiters(id)
	}
}

// recountOpen counts the answers to all questions without an end by who may answer now.
func (in *Inbox) recountOpen(ctx context.Context) error {
	in.mu.Lock()
	ids := slices.Collect(maps.Keys(in.open))
	in.mu.Unlock()
	p, now := in.policy.Load(), in.o.Now()
	changes := func(row Item) bool {
		if in.isUnnamed(row) { // it is counted when its call asks
			return false
		}
		return row.showAt(now).State == StatePending && (row.Yes > 0 || row.Needed != in.requireOf(p, row).needed) || row.State == StateApproved
	}
	ids = slices.DeleteFunc(ids, func(id string) bool {
		row, err := in.readItem(ctx, id)
		return err == nil && !changes(row) || errors.Is(err, ErrUnknown)
	})
	for some := range slices.Chunk(ids, recountAtOnce) {
		err := in.o.Store.Submit(ctx, func(tx *store.Tx) error {
			for _, id := range some {
				row, err := readItemTx(tx, id)
				if errors.Is(err, ErrUnknown) || err == nil && !changes(row) {
					continue
				}
				if err == nil {
					err = in.recountYes(tx, row, in.requireOf(p, row))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// requireOf returns what the rules of a policy say together of the call of a question.
func (in *Inbox) requireOf(p *Policy, row Item) requirement {
	return p.require(row.requesters(), in.subjectsOf(row)...)
}

// isUnnamed reports whether the row is of a tool whose name is not known here: see subjectsOf.
func (in *Inbox) isUnnamed(row Item) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	_, known := in.unnamed[row.ID]
	return row.Skill == "" && !known
}

// recountAtOnce is how many questions one transaction counts again.
const recountAtOnce = 200

// takeUpRows reads which questions have no end, and ends those whose calls were decided while
// no inbox was there to hear of it.
func (in *Inbox) takeUpRows(ctx context.Context) error {
	if err := in.o.Store.Migrate(ctx, "approvals", schema); err != nil {
		return err
	}
	calls, err := in.queryOpen(ctx)
	if err != nil {
		return err
	}
	for id, call := range calls {
		in.open[id] = true
		list, err := in.o.Ledger.List(ctx, ledger.Query{Call: call, Decision: id, Kind: sentinel.RecordDecision, Limit: 1})
		if err != nil {
			return err
		}
		for _, r := range list {
			rec := sentinel.Record{Kind: r.Kind, DecisionID: r.Decision, At: r.Time, Outcome: r.Outcome, Gate: r.Gate, Code: r.Code}
			if err := in.o.Store.Submit(ctx, func(tx *store.Tx) error { return in.CloseTx(tx, rec) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// queryOpen returns the ids that have no end, with their calls.
func (in *Inbox) queryOpen(ctx context.Context) (calls map[string]string, err error) {
	rows, err := in.o.Store.Reader().Query(ctx, sqlOpen)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	calls = map[string]string{}
	for rows.Next() {
		var id, call string
		if err := rows.Scan(&id, &call); err != nil {
			return nil, err
		}
		calls[id] = call
	}
	return calls, rows.Err()
}

// CountOpen returns how many approvals have no end yet: those that wait for an answer, and those whose
// call has not heard it.
func (in *Inbox) CountOpen() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.open)
}

// inquiry is what Approve asks: the call as the checkpoint shows it now.
type inquiry struct {
	id, digest string
	policy     *Policy // by which need was worked out
	call       sentinel.Call
	decision   sentinel.Decision
	sheet      []byte
	need       requirement
	after      subject        // the skill whose changes the call commits
	offer      *StandingOffer // what a standing approval would be for; nil for none
	editor     *sealedAnswer  // the edit that the call is made of, where it is this inbox's
}

// Approve implements sentinel.Approver. It puts the question down, unless it is there already,
// and waits for the answers until ctx ends. A call that no person could approve by the rules of who
// may is sentinel.ErrNoApprover.
func (in *Inbox) Approve(ctx context.Context, c sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
	return in.ApproveTelling(ctx, c, d, func() {})
}

// ApproveTelling implements sentinel.TellingApprover: asked is called once the question is on disk, where
// List, Show and Answer find it. It isn't where people have answered the question already.
func (in *Inbox) ApproveTelling(
	ctx context.Context, c sentinel.Call, d sentinel.Decision, asked func(),
) (v sentinel.Verdict, err error) {
	q, err := in.prepareInquiry(ctx, c, d)
	if err != nil {
		return v, err
	}
	woken, leave := in.joinWait(q.id, subjectOf(q.call))
	defer leave()
	if err = in.o.Store.Submit(ctx, func(tx *store.Tx) error { return in.putInquiry(tx, q) }); err == nil {
		if v, answered, err := in.readAnswers(ctx, q); err == nil && answered { // before a restart: no person is asked again
			return v, nil
		}
		asked()
	}
	q.sheet = nil // it is on disk, and the wait may last hours
	return in.awaitAnswers(ctx, q, woken, err)
}

// prepareInquiry makes the question about a call that a person may answer.
func (in *Inbox) prepareInquiry(ctx context.Context, c sentinel.Call, d sentinel.Decision) (*inquiry, error) {
	q, err := in.newInquiry(c, d)
	if err == nil {
		err = q.need.refuseUnmeetable()
	}
	if err == nil {
		q.editor, err = in.findEditor(ctx, q)
	}
	return q, err
}

// awaitAnswers waits until people have answered a question, or ctx ends. failed is what became of putting
// it down.
func (in *Inbox) awaitAnswers(ctx context.Context, q *inquiry, woken <-chan struct{}, failed error) (v sentinel.Verdict, err error) {
	for err = failed; ; {
		answered := false
		if err == nil {
			err = in.followPolicy(ctx, q)
		}
		if err == nil {
			v, answered, err = in.readAnswers(ctx, q)
		}
		switch {
		case err != nil && ctx.Err() != nil: // its end is what broke the reading off
			return v, context.Cause(ctx)
		case err != nil || answered:
			return v, err
		}
		select {
		case <-woken:
		case <-ctx.Done():
			return v, context.Cause(ctx)
		}
	}
}

// subjectOf is what rules of who may answer go by. The name of an unknown skill is a model's text.
func subjectOf(c sentinel.Call) subject {
	if c.Skill() == nil {
		return subject{"", c.Effect()}
	}
	return subject{c.Name(), c.Effect()}
}

// newInquiryOf says who may answer the question of a decision, and not what is shown.
func (in *Inbox) newInquiryOf(c sentinel.Call, d sentinel.Decision) *inquiry {
	q := &inquiry{id: d.ID, call: c, decision: d}
	if first, ok := c.Follows(); ok {
		q.after = subjectOf(first)
	}
	q.requireBy(in.policy.Load())
	return q
}

// newInquiry makes the question about a call.
func (in *Inbox) newInquiry(c sentinel.Call, d sentinel.Decision) (*inquiry, error) {
	q := in.newInquiryOf(c, d)
	if d.ID == "" || d.Expires.IsZero() {
		return q, errors.New("a question needs the id of a decision and an expiry")
	}
	digest, err := shownKey(in.o.Key, c, d)
	if err != nil {
		return q, fmt.Errorf("name what is shown: %w", err)
	}
	q.digest, q.offer = digest, in.newOffer(c, d)
	sheet := newSheet(c, d)
	sheet.Approval, sheet.Digest, sheet.Standing = q.id, q.digest, q.offer
	if q.sheet, err = encodeSheet(sheet); err != nil {
		return q, fmt.Errorf("write down what is shown: %w", err)
	}
	return q, nil
}

// requireBy works out who may answer, by a policy.
func (q *inquiry) requireBy(p *Policy) {
	subjects := []subject{subjectOf(q.call)}
	if q.after.skill != "" {
		subjects = append(subjects, q.after)
	}
	q.policy, q.need = p, p.require(requesters{q.call.Grant().User(), q.call.Grant().Proposer()}, subjects...)
}

// followPolicy works out again who may answer where the policy was exchanged, and counts the answers by it.
func (in *Inbox) followPolicy(ctx context.Context, q *inquiry) error {
	p := in.policy.Load()
	if p == q.policy {
		return nil
	}
	q.requireBy(p)
	if err := q.need.refuseUnmeetable(); err != nil {
		return err
	}
	return in.o.Store.Submit(ctx, func(tx *store.Tx) error {
		row, err := readItemTx(tx, q.id)
		switch {
		case errors.Is(err, ErrUnknown), err == nil && row.State != StatePending && !row.isAnswered():
			return nil // purged or ended meanwhile: who reads the answers says so
		case err != nil:
			return err
		}
		return in.recountYes(tx, row, q.need)
	})
}

// joinWait has answers to the approval told on the channel until leave. So long rules of who may answer find the call
// by its subject.
func (in *Inbox) joinWait(id string, s subject) (woken chan struct{}, leave func()) {
	woken = make(chan struct{}, 1)
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.waiting[id] == nil {
		in.waiting[id] = map[chan struct{}]bool{}
	}
	in.waiting[id][woken] = true
	in.unnamed[id] = s
	return woken, func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		if delete(in.waiting[id], woken); len(in.waiting[id]) == 0 {
			delete(in.waiting, id)
			delete(in.unnamed, id)
		}
	}
}

// subjectsOf are what the rules of who may answer look at. The row of a tool that the operator didn't name holds no name
// of it: while the call waits it is known here.
func (in *Inbox) subjectsOf(row Item) []subject {
	list := row.subjects()
	if row.Skill != "" {
		return list
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if s, ok := in.unnamed[row.ID]; ok {
		list[0] = s
	}
	return list
}

// wakeWaiters tells those who wait for the approval to look again.
func (in *Inbox) wakeWaiters(id string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for woken := range in.waiting[id] {
		select {
		case woken <- struct{}{}:
		default: // it has not looked since the last time
		}
	}
}

// errEnded refuses to ask again about a call that has its decision.
var errEnded = errors.New("the approval has ended, and its call is asked about again")

// putInquiry puts the question down. Where it is there already as it is now, answers that were
// given meanwhile stay. Where people were shown something else, their answers count no more.
func (in *Inbox) putInquiry(tx *store.Tx, q *inquiry) error {
	row, err := readItemTx(tx, q.id)
	switch {
	case errors.Is(err, ErrUnknown):
		return in.insertInquiry(tx, q)
	case err != nil:
		return err
	case row.State != StatePending && !row.isAnswered():
		return errEnded
	case row.Digest == q.digest:
		return in.recountYes(tx, row, q.need)
	}
	sheet, err := in.sealSheet(tx, q)
	if err != nil {
		return err
	}
	in.rows.mark(q.id)
	if _, err := tx.Exec(sqlVoid, q.id); err != nil {
		return err
	}
	_, err = tx.Exec(sqlRenew, q.digest, q.call.Outward(), q.call.Tainted(), q.need.needed, sheet, q.id)
	if err == nil {
		err = in.stageChange(tx, ChangeAsked, q.id)
	}
	return err
}

// recountYes counts again who said yes to a question that was answered by other rules of who
// may: fewer may be needed by now, or others.
func (in *Inbox) recountYes(tx *store.Tx, row Item, need requirement) error {
	in.rows.mark(row.ID)
	if row.State != StatePending && row.State != StateApproved {
		_, err := tx.Exec(sqlNeed, need.needed, row.ID)
		return err
	}
	said, err := listSayers(tx, row.ID, need)
	if err != nil {
		return err
	}
	yes, state := countPersons(said), StatePending
	if yes >= need.needed {
		state = StateApproved
	}
	if _, err = tx.Exec(sqlRecount, string(state), need.needed, yes, strings.Join(said, ", "), row.ID); err != nil {
		return err
	}
	if row.Yes == yes && row.Needed == need.needed && row.State == state {
		return nil
	}
	return in.stageChange(tx, ChangeRecounted, row.ID)
}

// stageChange tells of a question, once it is on disk.
func (in *Inbox) stageChange(tx *store.Tx, kind ChangeKind, id string) error {
	row, err := readItemTx(tx, id)
	if err == nil {
		in.watch.stage(tx, Change{kind, row})
	}
	return err
}

// insertInquiry adds the row of a question that is put for the first time.
func (in *Inbox) insertInquiry(tx *store.Tx, q *inquiry) error {
	sheet, err := in.sealSheet(tx, q)
	if err != nil {
		return err
	}
	c, d, g := q.call, q.decision, q.call.Grant()
	in.rows.mark(q.id)
	_, err = tx.Exec(sqlInsert, q.id, c.Proposed().ID(), g.Conversation(), g.Turn(), g.Agent(), g.User(), c.RecordName(),
		string(c.Effect()), c.Outward(), c.Tainted(), q.digest, d.Asked.UnixMilli(), d.Expires.UnixMilli(), string(StatePending),
		q.need.needed, q.after.skill, string(q.after.effect), g.Proposer(), sheet)
	if err != nil {
		return err
	}
	in.markOpen(tx, q.id, true)
	if err := in.stageChange(tx, ChangeAsked, q.id); err != nil {
		return err
	}
	return in.sayEdited(tx, q)
}

// findEditor returns the edit that the call is made of, nil where this inbox has none, or where
// rules changed what the person gave: then they have not seen what would run.
func (in *Inbox) findEditor(ctx context.Context, q *inquiry) (*sealedAnswer, error) {
	e, ok := q.call.Edited()
	if !ok || e.Digest != q.call.Digest() {
		return nil, nil //nolint:nilnil // that there is none is no error
	}
	values, err := in.o.Journal.ByCall(ctx, refOf(e.Decision))
	if err != nil {
		return nil, fmt.Errorf("open the edit: %w", err)
	}
	for _, v := range slices.Backward(values) {
		var a sealedAnswer
		if v.Kind != kindAnswer || json.Unmarshal(v.Data, &a) != nil || a.Approval != e.Decision || a.Edit == nil {
			continue
		}
		if a.By == e.By && a.Via == e.Via {
			return &a, nil
		}
	}
	return nil, nil //nolint:nilnil // the edit is another approver's
}

// sayEdited answers a question in the name of the person who gave the call its arguments, where
// they may answer it. It counts as one yes, with its own record.
func (in *Inbox) sayEdited(tx *store.Tx, q *inquiry) error {
	if q.editor == nil || !q.need.allows(q.editor.By) {
		return nil
	}
	_, err := in.takeAnswer(tx, Answer{Approval: q.id, Word: Yes, Digest: q.digest, By: q.editor.By, Via: q.editor.Via})
	var late *DecidedError
	if errors.As(err, &late) {
		return nil // the time to answer is over; the checkpoint says so
	}
	return err
}

// markOpen notes whether the approval has no end, and takes the note back with the submission.
func (in *Inbox) markOpen(tx *store.Tx, id string, open bool) {
	set := func(open bool) {
		in.mu.Lock()
		defer in.mu.Unlock()
		if open {
			in.open[id] = true
		} else {
			delete(in.open, id)
		}
	}
	set(open)
	tx.OnUndo(func() { set(!open) })
}

// The kinds of what the journal keeps of an approval.
const (
	kindSheet  = "approvals.sheet"
	kindAnswer = "approvals.answer"
)

// refOf is the reference of an approval's values in the journal.
func refOf(id string) string { return "approval/" + id }

// sealSheet keeps what a person is shown.
func (in *Inbox) sealSheet(tx *store.Tx, q *inquiry) (int64, error) {
	g := q.call.Grant()
	return in.o.Journal.PutTx(tx, journal.Item{
		Call: refOf(q.id), Conversation: g.Conversation(), User: g.User(), Kind: kindSheet, Data: q.sheet,
		Expires: q.decision.Expires.Add(in.o.Retention),
	})
}

// sealedAnswer is an answer as the journal keeps it, and the one that counts.
type sealedAnswer struct {
	V        int       `json:"v"`
	Approval string    `json:"approval"`
	Digest   string    `json:"digest"`
	Word     Word      `json:"word"`
	By       string    `json:"by"`
	Via      string    `json:"via,omitempty"`
	At       time.Time `json:"at"`
	Feedback string    `json:"feedback,omitempty"`
	// Sheet is the number of what the person was shown. An answer to an earlier sheet is void, also
	// where that one had the same digest.
	Sheet int64 `json:"sheet"`
	// Edit are the arguments that the person gave the call.
	Edit json.RawMessage `json:"edit,omitempty"`
}

// readItem reads an approval. The error wraps ErrUnknown where there is none.
func (in *Inbox) readItem(ctx context.Context, id string) (Item, error) {
	return getItem(ctx, in.o.Store.Reader(), id)
}

// AnswerHolds implements sentinel.RevisingApprover: a yes holds while those who said it may answer by the rules of now,
// and are as many as these need.
func (in *Inbox) AnswerHolds(ctx context.Context, c sentinel.Call, d sentinel.Decision) (bool, error) {
	q := in.newInquiryOf(c, d)
	if !q.need.isMeetable() {
		return false, nil
	}
	given, err := in.openAnswers(ctx, q)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(given, func(a sealedAnswer) bool { return a.Word == No || a.Edit != nil }) {
		return false, nil // said after a reload had opened the question again
	}
	return len(selectYes(given, q.need)) >= q.need.needed, nil
}

// readAnswers returns the verdict that people gave, and whether they did. A question that was
// purged while its call waits is put to no person again.
func (in *Inbox) readAnswers(ctx context.Context, q *inquiry) (v sentinel.Verdict, answered bool, err error) {
	row, err := in.readItem(ctx, q.id)
	switch {
	case errors.Is(err, ErrUnknown):
		return v, false, fmt.Errorf("%w: the question was purged", sentinel.ErrNoApprover)
	case err != nil:
		return v, false, err
	case row.State == StatePending:
		return v, false, nil
	case !row.isAnswered():
		return v, false, errEnded
	}
	given, err := in.openAnswers(ctx, q)
	if err != nil {
		return v, false, err
	}
	if no := slices.IndexFunc(given, func(a sealedAnswer) bool { return a.Word == No }); no >= 0 {
		return refuseFor(given[no]), true, nil
	}
	if row.isEdited() {
		if edit := slices.IndexFunc(given, func(a sealedAnswer) bool { return a.Edit != nil && q.need.allows(a.By) }); edit >= 0 {
			return editFor(given[edit]), true, nil
		}
	} else if yes := selectYes(given, q.need); len(yes) >= q.need.needed {
		return approveFor(yes), true, nil
	}
	return v, false, in.reopenInquiry(ctx, q, selectYes(given, q.need))
}

// openAnswers returns the sealed answers to the question as it is shown now, which a digest names where q has one.
func (in *Inbox) openAnswers(ctx context.Context, q *inquiry) ([]sealedAnswer, error) {
	values, err := in.o.Journal.ByCall(ctx, refOf(q.id))
	if err != nil {
		return nil, fmt.Errorf("open the answers: %w", err)
	}
	g := q.call.Grant()
	sheet := int64(0) // the newest: what people are shown now
	for _, v := range values {
		if v.Kind == kindSheet {
			sheet = max(sheet, v.ID)
		}
	}
	var out []sealedAnswer
	for _, v := range values {
		var a sealedAnswer
		if v.Kind != kindAnswer || v.User != g.User() || v.Conversation != g.Conversation() || json.Unmarshal(v.Data, &a) != nil {
			continue
		}
		if a.Approval == q.id && (q.digest == "" || a.Digest == q.digest) && a.Sheet == sheet {
			out = append(out, a)
		}
	}
	return out, nil
}

// selectYes returns one yes of each person who may answer by the rules as they are now.
func selectYes(given []sealedAnswer, need requirement) (out []sealedAnswer) {
	said := map[string]bool{}
	for _, a := range given {
		if a.Word == Yes && a.Edit == nil && !said[personKey(a.By)] && need.allows(a.By) {
			said[personKey(a.By)] = true
			out = append(out, a)
		}
	}
	return out
}

// reopenInquiry asks on where the answers that hold are fewer than needed: the rules of who may
// answer have changed since, or the row says more than was sealed.
func (in *Inbox) reopenInquiry(ctx context.Context, q *inquiry, yes []sealedAnswer) error {
	in.o.Log.Warn("an approval is asked about again: the answers that hold do not suffice",
		"approval", q.id, "yes", len(yes), "needed", q.need.needed)
	return in.o.Store.Submit(ctx, func(tx *store.Tx) error {
		in.rows.mark(q.id)
		n, err := tx.Exec(sqlReopen, q.need.needed, len(yes), joinNames(yes), q.id)
		switch {
		case err != nil:
			return err
		case n == 0:
			return errNoAnswer
		}
		return in.stageChange(tx, ChangeRecounted, q.id)
	})
}

// errNoAnswer is the error for a row that says no, and no person did.
var errNoAnswer = errors.New("the row of the approval says that it was answered, and no answer is sealed")

// joinNames lists who gave the answers.
func joinNames(list []sealedAnswer) string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.By
	}
	return strings.Join(names, ", ")
}

// joinWays lists the ways by which the answers came, each once.
func joinWays(list []sealedAnswer) string {
	var ways []string
	for _, a := range list {
		if a.Via != "" && !slices.Contains(ways, a.Via) {
			ways = append(ways, a.Via)
		}
	}
	return strings.Join(ways, ", ")
}

// approveFor is the verdict of a yes by as many as are needed.
func approveFor(yes []sealedAnswer) sentinel.Verdict {
	v := sentinel.Pass()
	v.Gate, v.Reason = sentinel.GateApproval, "approved by "+joinNames(yes)
	v.Meta = map[string]string{"by": joinNames(yes), "via": joinWays(yes)}
	return v
}

// editFor is the verdict of a yes to other arguments: the call does not run as it was.
func editFor(a sealedAnswer) sentinel.Verdict {
	v := sentinel.Refuse(CodeEdited, a.By+" gave the call other arguments")
	v.Gate, v.Edit = sentinel.GateApproval, a.Edit
	v.Meta = map[string]string{"by": a.By, "via": a.Via}
	return v
}

// refuseFor is the verdict of a no. The person's words go to the agent, as a person's.
func refuseFor(no sealedAnswer) sentinel.Verdict {
	v := sentinel.Refuse(CodeDenied, "refused by "+no.By)
	v.Gate = sentinel.GateApproval
	v.Meta = map[string]string{"by": no.By, "via": no.Via}
	if no.Feedback != "" {
		v.Detail = "the person wrote: " + quotePerson(no.Feedback)
	}
	return v
}

// quotePerson quotes what a person wrote, so that its end is certain and nothing in it is hidden.
func quotePerson(text string) string { return `"` + escapeText(text, true) + `"` }
