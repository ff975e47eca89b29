package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// RecordAnswered is the kind of record that the ledger has of each answer, before it counts.
// Its code is CodeSaidYes, CodeSaidNo or CodeSaidEdited.
const RecordAnswered = "approval_answered"

// The codes of RecordAnswered.
const (
	CodeSaidYes = "said_yes"
	CodeSaidNo  = "said_no"
	// CodeSaidEdited is the code of an answer that gave the call other arguments.
	CodeSaidEdited = "said_edited"
)

const (
	// MaxFeedback is the greatest size of a feedback in bytes.
	MaxFeedback = 4 << 10
	// MaxName is the greatest size of Answer.By and Answer.Via in bytes.
	MaxName = 128
	// MinDigest is how much of a digest an Answer gives at least, in hexadecimal digits.
	MinDigest = 16
)

// Answer is what a person says to a question.
type Answer struct {
	// Approval is the whole id of the approval.
	Approval string
	Word     Word
	// Feedback is the person's own words, at most MaxFeedback bytes. With a no the agent reads
	// them as the refusal's text, marked as a person's. They are kept sealed.
	Feedback string
	// Digest is Item.Digest as the person was shown it, or its first MinDigest digits at least. An
	// answer to another digest is a *StaleError. Empty compares nothing: for programs alone that
	// show and answer in one step.
	Digest string
	// Edit, with a yes, are other arguments for the call, whole, as one JSON object: not what was
	// shown runs, but this. Arguments that hold secrets are given as they were shown, and stay. The
	// edited call begins at the first gate. Where it is asked about too, the edit is this person's
	// yes to it, if they may answer; the approval of the call as it was is StateSuperseded, with
	// the code CodeEdited. The agent is told what ran.
	Edit json.RawMessage
	// By is who answers, by the program's authentication. It must never come from a request's
	// body. Via says how: "cli", "web".
	By, Via string
	// Principal is the id of who is authenticated, where programs propose calls under such ids. A yes of
	// the principal that proposed the call itself is a *NotAllowedError.
	Principal string
}

// checkForm refuses an answer that can't be one.
func (a Answer) checkForm() error {
	switch {
	case a.Word != Yes && a.Word != No:
		return fmt.Errorf("%w: its word is %q; say %s or %s", ErrAnswer, a.Word, Yes, No)
	case a.By == "":
		return fmt.Errorf("%w: it says not who answers", ErrAnswer)
	case !isPlainName(a.By) || !isPlainName(a.Via):
		return fmt.Errorf("%w: who answers and how is one line of at most %d bytes", ErrAnswer, MaxName)
	case len(a.Feedback) > MaxFeedback:
		return fmt.Errorf("%w: its feedback has %d bytes, more than %d", ErrAnswer, len(a.Feedback), MaxFeedback)
	case !utf8.ValidString(a.Feedback) || strings.ContainsRune(a.Feedback, 0):
		return fmt.Errorf("%w: its feedback is no text", ErrAnswer)
	case a.Edit != nil && a.Word != Yes:
		return fmt.Errorf("%w: it has other arguments for the call, and its word is no", ErrAnswer)
	case a.Digest != "" && len(a.Digest) < MinDigest:
		return fmt.Errorf("%w: its digest has %d digits; give the first %d at least", ErrAnswer, len(a.Digest), MinDigest)
	}
	return nil
}

// isPlainName reports whether s is one line of at most MaxName bytes.
func isPlainName(s string) bool {
	return len(s) <= MaxName && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// Answer takes a person's answer: it is on record in the ledger when Answer returns, and then the
// call that waits hears of it. The first no decides; a yes decides once as many different people
// as are needed have said it. A person who said yes may still say no while others are waited for.
//
// The error is a *DecidedError, which says who decided and when, also for a question whose time is
// over; a *StaleError; a *NotAllowedError; or wraps ErrUnknown or ErrAnswer. Any other error is the
// store's: nothing was taken then. The Item is the approval as it is after the answer.
func (in *Inbox) Answer(ctx context.Context, a Answer) (Item, error) {
	return in.submitAnswer(ctx, a, func(*store.Tx, Item) error { return nil })
}

// submitAnswer takes an answer, and what goes with it in the same transaction.
func (in *Inbox) submitAnswer(ctx context.Context, a Answer, with func(*store.Tx, Item) error) (out Item, err error) {
	if err := errors.Join(a.checkForm(), in.refuseProposer(ctx, a)); err != nil {
		return Item{}, err
	}
	if a.Edit != nil {
		if a, err = in.prepareEdit(ctx, a); err != nil {
			return Item{}, err
		}
	}
	err = in.o.Store.Submit(ctx, func(tx *store.Tx) (err error) {
		if out, err = in.takeAnswer(tx, a); err != nil {
			return err
		}
		return with(tx, out)
	})
	if errors.Is(err, store.ErrUnavailable) {
		// Those who wait look for themselves: a hook that fails after the commit makes an error of
		// an answer that is on disk. Of a success the commit has told them.
		in.wakeWaiters(a.Approval)
	}
	if err != nil {
		return Item{}, err
	}
	return out, nil
}

// refuseProposer refuses the yes of a principal to its own call.
func (in *Inbox) refuseProposer(ctx context.Context, a Answer) error {
	if a.Principal == "" || a.Word != Yes {
		return nil
	}
	row, err := Get(ctx, in.o.Store.Reader(), a.Approval, in.o.Now())
	if err != nil {
		return err
	}
	sheet, err := in.openSheet(ctx, a.Approval, row.Digest)
	if err != nil || sheet == nil || sheet.Remote != a.Principal {
		return err
	}
	return &NotAllowedError{Approval: a.Approval, By: a.By, Rules: []string{"no principal approves its own call"}}
}

// prepareEdit reads the arguments of an edit, and refuses those that the call can't have. The
// answer that it returns is to exactly the question that it was read with.
func (in *Inbox) prepareEdit(ctx context.Context, a Answer) (Answer, error) {
	row, sheet, err := in.readShown(ctx, a.Approval)
	if err != nil {
		return a, err
	}
	canonical, edited, err := sentinel.CanonicalArgs(a.Edit)
	if err != nil {
		return a, fmt.Errorf("%w: its arguments are none that a call can have: %w", ErrAnswer, err)
	}
	if in.o.Skills == nil {
		return a, fmt.Errorf("%w: an edit needs the skill's schema, which the program alone has; "+
			"start the program, then edit, or say yes or no now", ErrAnswer)
	}
	skill, known := in.findSkill(row.Skill)
	if !known || row.Commits != "" {
		return a, fmt.Errorf("%w: this call can't be edited here; say yes or no to it", ErrAnswer)
	}
	if mistakes := skill.Validate(edited); len(mistakes) > 0 {
		return a, fmt.Errorf("%w: its arguments don't fit the skill: %s", ErrAnswer, mistakes[0].Error())
	}
	if sheet == nil || sheet.Args == nil {
		return a, fmt.Errorf("%w: the arguments as they were are not kept, so they can't be edited", ErrAnswer)
	}
	was, shown, err := sentinel.CanonicalArgs(sheet.Args)
	switch {
	case err != nil:
		return a, fmt.Errorf("read what was shown: %w", err)
	case was == canonical:
		return a, fmt.Errorf("%w: its arguments are those that the call has; leave the edit out", ErrAnswer)
	}
	if err := sentinel.CheckEdit(skill, shown, edited); err != nil {
		return a, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if a.Digest != "" && !strings.HasPrefix(row.Digest, a.Digest) {
		return a, &StaleError{row.ID}
	}
	a.Digest, a.Edit = row.Digest, json.RawMessage(canonical)
	return a, nil
}

// findSkill returns a skill that calls can be edited of.
func (in *Inbox) findSkill(name string) (*skills.Skill, bool) {
	return in.o.Skills(name)
}

// takeAnswer compares state, expiry, digest and person, and writes the answer down, in one
// transaction.
func (in *Inbox) takeAnswer(tx *store.Tx, a Answer) (Item, error) {
	now := in.o.Now()
	row, err := readItemTx(tx, a.Approval)
	if err != nil {
		return row, err
	}
	row = row.showAt(now)
	need := in.requireOf(in.policy.Load(), row)
	said, err := listSayers(tx, row.ID, need)
	if err != nil {
		return row, err
	}
	switch {
	case !need.allows(a.By):
		return row, &NotAllowedError{row.ID, a.By, need.rules}
	case row.State != StatePending:
		return row, &DecidedError{row}
	case a.Digest != "" && !strings.HasPrefix(row.Digest, a.Digest):
		return row, &StaleError{row.ID}
	case a.Word == Yes && slices.ContainsFunc(said, func(by string) bool { return personKey(by) == personKey(a.By) }):
		row.By, row.Via = a.By, ""
		return row, &DecidedError{row}
	}
	row.Needed = need.needed
	row.By, row.Via, row.At = a.By, a.Via, now.UTC().Truncate(time.Millisecond)
	switch {
	case a.Word == No:
		row.State = StateDenied
	case a.Edit != nil: // one person's word is enough for the call not to run as it was
		row.State, row.Code = StateSuperseded, CodeEdited
	default:
		row.Yes = countPersons(said) + 1
		row.By = strings.Join(append(said, a.By), ", ")
		if row.Yes >= row.Needed {
			row.State = StateApproved
		}
	}
	return row, in.writeAnswer(tx, row, a, now)
}

// listSayers returns who said yes and may answer by the rules as they are now.
func listSayers(tx *store.Tx, id string, need requirement) ([]string, error) {
	said, err := collectTexts(tx, sqlSayers, id)
	return slices.DeleteFunc(said, func(by string) bool { return !need.allows(by) }), err
}

// writeAnswer writes an answer down, its values sealed, with its record in the ledger.
func (in *Inbox) writeAnswer(tx *store.Tx, row Item, a Answer, now time.Time) error {
	said := sealedAnswer{
		V: 2, Approval: row.ID, Digest: row.Digest, Word: a.Word, By: a.By, Via: a.Via, At: now.UTC(), Feedback: a.Feedback, Edit: a.Edit,
	}
	if _, err := tx.QueryRow([]any{&said.Sheet}, sqlSheet, row.ID); err != nil {
		return err
	}
	data, err := plainjson.Marshal(said)
	if err != nil {
		return err
	}
	sealed, err := in.o.Journal.PutTx(tx, journal.Item{
		Call: refOf(row.ID), Conversation: row.Conversation, User: row.User, Kind: kindAnswer, Data: data,
		Expires: row.Expires.Add(in.o.Retention),
	})
	if err != nil {
		return err
	}
	number := 0
	if _, err := tx.QueryRow([]any{&number}, sqlNumber, row.ID); err != nil {
		return err
	}
	if _, err := tx.Exec(sqlPutWord, row.ID, number, string(a.Word), a.By, a.Via, now.UnixMilli(), sealed); err != nil {
		return err
	}
	in.rows.mark(row.ID)
	_, err = tx.Exec(sqlDecide, string(row.State), row.Code, row.Needed, row.Yes, row.By, row.Via, row.At.UnixMilli(), row.ID)
	if err != nil {
		return err
	}
	in.watch.stage(tx, Change{ChangeAnswered, row})
	return in.recordAnswer(tx, row, a, now)
}

// answeredBody is what the ledger holds of an answer: codes, names and numbers.
type answeredBody struct {
	V        int    `json:"v"`
	Approval string `json:"approval"`
	Turn     string `json:"turn,omitempty"`
	Word     Word   `json:"word"`
	By       string `json:"by"`
	Via      string `json:"via,omitempty"`
	Digest   string `json:"digest"`
	Yes      int    `json:"yes"`
	Needed   int    `json:"needed"`
	State    State  `json:"state"`
	Edited   bool   `json:"edited,omitempty"`
}

// recordAnswer leaves in the ledger who answered what.
func (in *Inbox) recordAnswer(tx *store.Tx, row Item, a Answer, now time.Time) error {
	body, err := json.Marshal(answeredBody{
		V: 1, Approval: row.ID, Turn: row.Turn, Word: a.Word, By: a.By, Via: a.Via, Digest: row.Digest, Yes: row.Yes,
		Needed: row.Needed, State: row.State, Edited: a.Edit != nil,
	})
	if err != nil {
		return err
	}
	code := CodeSaidYes
	switch {
	case a.Word == No:
		code = CodeSaidNo
	case a.Edit != nil:
		code = CodeSaidEdited
	}
	_, err = in.o.Ledger.AppendTx(tx, ledger.Entry{
		ID: ids.New(), Time: now, Kind: RecordAnswered, Call: row.Call, Decision: row.ID, Conversation: row.Conversation, User: row.User,
		Agent: row.Agent, Skill: row.Skill, Gate: sentinel.GateApproval, Code: code, Body: body,
	})
	return err
}

// CloseTx ends the approval of a decision, in the transaction that records the decision: so a yes
// is used up exactly when the call is allowed. Records of other kinds, and decisions about which
// no person was asked, change nothing.
func (in *Inbox) CloseTx(tx *store.Tx, rec sentinel.Record) error {
	if err := in.countUse(tx, rec); err != nil {
		return err
	}
	in.mu.Lock()
	open := in.open[rec.DecisionID]
	in.mu.Unlock()
	if !open || rec.Kind != sentinel.RecordDecision {
		return nil
	}
	in.rows.mark(rec.DecisionID)
	if _, err := tx.Exec(sqlClose, string(endState(rec)), rec.Code, in.o.Now().UnixMilli(), rec.DecisionID); err != nil {
		return err
	}
	in.markOpen(tx, rec.DecisionID, false)
	row, err := readItemTx(tx, rec.DecisionID)
	switch {
	case errors.Is(err, ErrUnknown): // purged meanwhile
		return nil
	case err != nil:
		return err
	}
	in.watch.stage(tx, Change{ChangeEnded, row})
	return nil
}

// ForgetTx is the function ForgetTx. It tells the calls that wait, which no person can approve any
// more, and those who watch.
func (in *Inbox) ForgetTx(tx *store.Tx, user, conversation string) (int, error) {
	ids, err := forgetTx(tx, user, conversation)
	if err != nil {
		return 0, err
	}
	in.stageForgotten(tx, ids)
	return len(ids), nil
}

// stageForgotten tells of approvals that are gone, once they are.
func (in *Inbox) stageForgotten(tx *store.Tx, ids []string) {
	for _, id := range ids {
		in.rows.mark(id)
		in.watch.stage(tx, Change{ChangeForgotten, Item{ID: id}})
	}
}

// endState is what a decision makes of the approval.
func endState(rec sentinel.Record) State {
	switch {
	case rec.Outcome == sentinel.Allow.String():
		return StateConsumed
	case rec.Gate != sentinel.GateApproval:
		return StateSuperseded
	}
	switch rec.Code {
	case CodeDenied:
		return StateDenied
	case CodeExpired:
		return StateExpired
	case sentinel.CodeApprovalCanceled, CodeNobody:
		return StateCancelled
	}
	return StateSuperseded
}

// Prune forgets approvals that ended before the given moment, with their answers, and returns how
// many. Those that expired before it and that no call took up go too. What they held sealed is the
// journal's to erase.
func (in *Inbox) Prune(ctx context.Context, before time.Time) (int, error) {
	all := 0
	for {
		var ids []string
		err := in.o.Store.Submit(ctx, func(tx *store.Tx) (err error) {
			if ids, err = deleteItems(tx, sqlEnded, before.UnixMilli(), before.UnixMilli()); err != nil {
				return err
			}
			in.stageForgotten(tx, ids)
			for _, statement := range []string{sqlPruneUses, sqlPruneStanding} {
				if _, err := tx.Exec(statement, before.UnixMilli()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(ids) == 0 {
			return all, err
		}
		all += len(ids)
		in.mu.Lock()
		for _, id := range ids {
			delete(in.open, id)
		}
		in.mu.Unlock()
	}
}

// List returns the approvals that the filter chooses, the oldest first.
func (in *Inbox) List(ctx context.Context, f Filter) ([]Item, error) {
	if f.isOfWaiting() {
		return in.rows.list(ctx, in.o.Store.Reader(), f, in.o.Now())
	}
	return List(ctx, in.o.Store.Reader(), f, in.o.Now())
}

// Show returns an approval with what a person must see, by its id or the beginning of it. The
// error wraps ErrUnknown or ErrAmbiguous, or is the store's.
func (in *Inbox) Show(ctx context.Context, begin string) (Card, error) {
	id, err := FindID(ctx, in.o.Store.Reader(), begin)
	if err != nil {
		return Card{}, err
	}
	row, sheet, err := in.readShown(ctx, id)
	if err != nil {
		return Card{}, err
	}
	c := Card{Item: row.showAt(in.o.Now()), Sheet: sheet, Answers: []Given{}}
	list, err := numberBatches(ctx, in.o.Store.Reader(), []Item{c.Item}, false, in.o.Now())
	if err != nil {
		return Card{}, err
	}
	c.Item = list[0]
	c.Answers, err = in.queryAnswers(ctx, id)
	return c, err
}

// readShown reads an approval with its sheet. A question that changes between the two is read
// again.
func (in *Inbox) readShown(ctx context.Context, id string) (Item, *Sheet, error) {
	row, err := in.readItem(ctx, id)
	for err == nil {
		sheet, broken := in.openSheet(ctx, id, row.Digest)
		if broken == nil {
			return row, sheet, nil
		}
		digest := row.Digest
		if row, err = in.readItem(ctx, id); err == nil && row.Digest == digest {
			return row, nil, broken
		}
	}
	return row, nil, err
}

// openSheet opens the sheet of a question, nil where it was erased. One that is not of the
// question's digest is an error: the row was changed in the database.
func (in *Inbox) openSheet(ctx context.Context, id, digest string) (*Sheet, error) {
	var number int64
	if err := in.o.Store.Reader().QueryRow(ctx, sqlSheet, id).Scan(&number); err != nil {
		return nil, fmt.Errorf("read the approval: %w", err)
	}
	v, err := in.o.Journal.Get(ctx, number)
	if errors.Is(err, journal.ErrErased) {
		return nil, nil //nolint:nilnil // that there is none any more is what the card says
	}
	if err != nil {
		return nil, fmt.Errorf("open what was shown: %w", err)
	}
	s := &Sheet{}
	if v.Kind != kindSheet || v.Call != refOf(id) || json.Unmarshal(v.Data, s) != nil || s.Approval != id || s.Digest != digest {
		return nil, errors.New("open what was shown: the journal holds something else under its number; the database was changed")
	}
	return s, nil
}

// queryAnswers returns the answers to an approval, with their feedback where it is still kept.
func (in *Inbox) queryAnswers(ctx context.Context, id string) (out []Given, err error) {
	rows, err := in.o.Store.Reader().Query(ctx, sqlWords, id)
	if err != nil {
		return nil, fmt.Errorf("read the answers: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = []Given{}
	var sealed []int64
	for rows.Next() {
		var g Given
		var word string
		var at, number int64
		if err := rows.Scan(&word, &g.By, &g.Via, &at, &g.Void, &number); err != nil {
			return nil, fmt.Errorf("read the answers: %w", err)
		}
		g.Word, g.At = Word(word), time.UnixMilli(at).UTC()
		out, sealed = append(out, g), append(sealed, number)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the answers: %w", err)
	}
	for i, number := range sealed {
		var a sealedAnswer
		if v, err := in.o.Journal.Get(ctx, number); err == nil && v.Call == refOf(id) && json.Unmarshal(v.Data, &a) == nil {
			out[i].Feedback, out[i].Edited = a.Feedback, a.Edit != nil
		}
	}
	return out, nil
}

// May reports whether a person may answer questions about such a call, by the rules under
// approvals.who. Programs show a sheet to those alone who may, since it holds values.
func (in *Inbox) May(by string, i Item) bool {
	return in.requireOf(in.policy.Load(), i).allows(by)
}
