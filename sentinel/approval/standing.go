package approval

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// The bounds of a standing approval.
const (
	// MaxStandingUses is how often a standing approval lets a call run.
	MaxStandingUses = 20
	// MaxStandingFor is how long a standing approval holds.
	MaxStandingFor = 24 * time.Hour
)

// ErrStanding is wrapped by the error of a yes that can't be a standing one. Its text says why,
// and nothing was taken.
var ErrStanding = errors.New("this can't be a standing approval")

// StandingTerms are how often and how long a standing approval holds.
type StandingTerms struct {
	// Uses is how many calls it lets run, from 1 to MaxStandingUses. The call that it is made
	// about is not one of them.
	Uses int `json:"uses"`
	// For is how long it holds, MaxStandingFor at most.
	For time.Duration `json:"for"`
}

// check refuses terms beyond the bounds.
func (t StandingTerms) check() error {
	switch {
	case t.Uses < 1 || t.Uses > MaxStandingUses:
		return fmt.Errorf("%w: it holds for 1 to %d calls, not for %d", ErrStanding, MaxStandingUses, t.Uses)
	case t.For <= 0 || t.For > MaxStandingFor:
		return fmt.Errorf("%w: it holds for a time of up to %s, not for %s", ErrStanding, MaxStandingFor, t.For)
	}
	return nil
}

// StandingState is how far a standing approval is.
type StandingState string

// The states of a standing approval.
const (
	StandingActive  StandingState = "active"
	StandingUsedUp  StandingState = "used_up"
	StandingExpired StandingState = "expired"
	StandingRevoked StandingState = "revoked"
)

// Standing is a yes that holds for calls to come which are as the one that it was given to: the
// same skill with the same digest, the same user, the same targets, under the same configuration,
// asked about by the same rule and by no other gate. It never holds for a call that is tainted or
// degraded. It holds no value of a call: the approval of From has those.
type Standing struct {
	ID    string `json:"id"`
	User  string `json:"user"`
	Skill string `json:"skill"`
	// SkillDigest is that of the skill's whole Spec.
	SkillDigest string `json:"skill_digest"`
	// Rule is what asks: the place of the rule, or of the skill, in the configuration.
	Rule string `json:"rule"`
	// From is the id of the approval that it was made of.
	From    string        `json:"from"`
	By      string        `json:"by"`
	Via     string        `json:"via,omitempty"`
	Made    time.Time     `json:"made"`
	Expires time.Time     `json:"expires"`
	Uses    int           `json:"uses"`
	Used    int           `json:"used"`
	State   StandingState `json:"state"`
	// RevokedBy and RevokedAt say who ended it.
	RevokedBy string    `json:"revoked_by,omitempty"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
}

// StandingFilter chooses standing approvals; what is empty chooses all.
type StandingFilter struct {
	User, Skill string
	// All lists those too that hold no more.
	All bool
	// After is the id of the last one of the page before.
	After string
	// Limit is how many are listed at most. If zero, 1,000.
	Limit int
}

// StandingOffer says what a standing approval made of a question would be for. Match names the
// calls, keyed; what of them must be the same is the other fields, and the arguments that are not
// marked as content.
type StandingOffer struct {
	Match       string `json:"match"`
	SkillDigest string `json:"skill_digest"`
	Rule        string `json:"rule"`
	// Fixed are the names of the arguments whose values must be the same.
	Fixed []string `json:"fixed"`
}

// matched is what the digest of an offer covers.
type matched struct {
	V                                                int
	Policy, User, Remote, Skill, SkillDigest, Effect string
	Outward                                          bool
	Rule                                             string
	Args                                             map[string]any
	Paths                                            []matchedPath
}

// matchedPath is where a path of a call leads to, and what is there.
type matchedPath struct{ Arg, Kind, Real, SHA256 string }

// newOffer returns what a standing approval would be for; nil where there can be none. The
// permission gate's rule alone may ask, with nothing left in doubt, and the call is neither
// tainted nor degraded, nor made of what another wrote or a person edited, and has a user.
func (in *Inbox) newOffer(c sentinel.Call, d sentinel.Decision) *StandingOffer {
	_, follows := c.Follows()
	_, edited := c.Edited()
	policy := cmp.Or(d.Policy, in.o.PolicyDigest)
	if policy == "" || c.RecordName() == "" || follows || edited || c.Tainted() || d.Degraded || c.Grant().User() == "" {
		return nil
	}
	rule, ok := findOnlyAsk(d)
	if !ok {
		return nil
	}
	m := matched{
		V: 1, Policy: policy, User: c.Grant().User(), Remote: c.Remote(), Skill: c.Name(), SkillDigest: c.Skill().Digest(),
		Effect: string(c.Effect()), Outward: c.Outward(), Rule: rule, Args: map[string]any{},
	}
	out := &StandingOffer{SkillDigest: m.SkillDigest, Rule: rule, Fixed: []string{}}
	for name, v := range c.Parsed() {
		if isMereContent(c.Skill(), name, v) {
			continue
		}
		m.Args[name] = v
		out.Fixed = append(out.Fixed, name)
	}
	slices.Sort(out.Fixed)
	for _, b := range d.Bound {
		m.Paths = append(m.Paths, matchedPath{b.Arg, b.Kind, b.Real, b.SHA256})
	}
	b, err := plainjson.Marshal(m)
	if err != nil {
		return nil
	}
	h := hmac.New(sha256.New, in.o.Key[:])
	h.Write([]byte("vedette/standing/v1\n"))
	h.Write(b)
	out.Match = hex.EncodeToString(h.Sum(nil))
	return out
}

// isMereContent reports whether an argument may differ from call to call: it is one text, its mark
// says that it is content, and nothing else marks it. What holds content beside a target is no
// mere content, since the target may differ too.
func isMereContent(s *skills.Skill, name string, v any) bool {
	_, isText := v.(string)
	marks, declared := s.ArgMarks(name)
	return isText && declared && marks == skills.Content
}

// findOnlyAsk returns the rule that asks; ok is false where another gate asks too, or has a doubt
// that counts.
func findOnlyAsk(d sentinel.Decision) (rule string, ok bool) {
	for _, v := range d.Verdicts {
		switch {
		case v.Degraded, v.Doubt != nil && v.Doubt.State == sentinel.DoubtCounted:
			return "", false
		case !v.Counts() || v.Outcome != sentinel.Ask:
		case v.Gate != sentinel.GatePermission:
			return "", false
		default:
			names := []string{v.Code}
			for _, e := range v.Evidence {
				names = append(names, e.Signal)
			}
			rule, ok = strings.Join(names, ", "), true
		}
	}
	return rule, ok
}

// sealedStanding is a standing approval as the journal keeps it, and the one that counts.
type sealedStanding struct {
	V       int       `json:"v"`
	ID      string    `json:"id"`
	Match   string    `json:"match"`
	By      string    `json:"by"`
	Uses    int       `json:"uses"`
	Expires time.Time `json:"expires"`
}

// kindStanding is the kind of what the journal keeps of a standing approval.
const kindStanding = "approvals.standing"

// viaStanding is how an answer came that a standing approval gave.
const viaStanding = "standing"

// LookUpAnswer implements sentinel.ForesightedApprover by the standing approval that is for a call. The
// use is counted with the decision: sentinel.ErrAnswerOver refuses to record one beyond the last.
func (in *Inbox) LookUpAnswer(ctx context.Context, c sentinel.Call, d sentinel.Decision) (v sentinel.Verdict, ok bool, err error) {
	in.noteUse(d.ID, "")
	q, err := in.newInquiry(c, d)
	if err != nil || q.offer == nil || q.need.needed > 1 || !q.need.isMeetable() {
		return v, false, err
	}
	now := in.o.Now()
	rows, err := in.o.Store.Reader().Query(ctx, sqlStandingFor, q.offer.Match, now.UnixMilli())
	if err != nil {
		return v, false, fmt.Errorf("read the standing approvals: %w", err)
	}
	list, err := scanStandings(rows)
	if err != nil {
		return v, false, err
	}
	for _, s := range list {
		holds, err := in.holds(ctx, s, q, now)
		if err != nil {
			return v, false, err
		}
		if !holds {
			continue
		}
		in.noteUse(q.id, s.ID)
		v = sentinel.Pass()
		v.Gate, v.Reason = sentinel.GateApproval, "approved by "+s.By+" beforehand"
		v.Meta = map[string]string{"by": s.By, "via": viaStanding, "standing": s.ID}
		return v, true, nil
	}
	return v, false, nil
}

// holds reports whether what is sealed of a standing approval is for the question, by a person who
// may still answer it, and no revocation is on record. The row alone says neither.
func (in *Inbox) holds(ctx context.Context, s storedStanding, q *inquiry, now time.Time) (bool, error) {
	v, err := in.o.Journal.Get(ctx, s.sealed)
	var a sealedStanding
	if err != nil || v.Kind != kindStanding || v.User != q.call.Grant().User() || json.Unmarshal(v.Data, &a) != nil {
		in.o.Log.Warn("a standing approval does not hold: what is sealed of it is gone or another's", "standing", s.ID)
		return false, nil //nolint:nilerr // what can't be read lifts nothing
	}
	if a.ID != s.ID || a.Match != q.offer.Match || a.By != s.By || s.Used >= a.Uses || !now.Before(a.Expires) || !q.need.allows(a.By) {
		return false, nil
	}
	revoked, err := in.isRevoked(ctx, a.ID)
	if revoked {
		in.o.Log.Warn("a standing approval does not hold: the ledger says that it was revoked, and its row was changed", "standing", a.ID)
	}
	return !revoked, err
}

// refOfStanding is the reference of a standing approval, in the journal and of its revocation in the ledger.
func refOfStanding(id string) string { return "standing/" + id }

// isRevoked reports whether the ledger has it that a standing approval was revoked.
func (in *Inbox) isRevoked(ctx context.Context, id string) (bool, error) {
	list, err := in.o.Ledger.List(ctx, ledger.Query{Call: refOfStanding(id), Kind: RecordStanding, Code: CodeStandingRevoked, Limit: 1})
	if err != nil {
		return false, fmt.Errorf("read whether the standing approval was revoked: %w", err)
	}
	return len(list) > 0, nil
}

// noteUse notes by which standing approval a decision is made, none for the empty id.
func (in *Inbox) noteUse(decision, standing string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if standing == "" {
		delete(in.using, decision)
		return
	}
	in.using[decision] = standing
}

// errStandingOver has a person asked about a call whose standing approval ended before it could start.
var errStandingOver = fmt.Errorf(
	"the standing approval was used up, revoked or expired before the call could start: %w", sentinel.ErrAnswerOver)

// countUse counts the use of a standing approval, in the transaction that records the decision.
func (in *Inbox) countUse(tx *store.Tx, rec sentinel.Record) error {
	in.mu.Lock()
	id := in.using[rec.DecisionID]
	in.mu.Unlock()
	if id == "" || rec.Kind != sentinel.RecordDecision {
		return nil
	}
	if rec.Outcome == sentinel.Allow.String() {
		now := in.o.Now().UnixMilli()
		n, err := tx.Exec(sqlStandingUse, id, now)
		if err != nil {
			return err
		}
		if n == 0 {
			return errStandingOver
		}
		if _, err := tx.Exec(sqlPutUse, rec.DecisionID, id, now); err != nil {
			return err
		}
	}
	in.noteUse(rec.DecisionID, "")
	tx.OnUndo(func() { in.noteUse(rec.DecisionID, id) })
	return nil
}

// Stand says yes to a question, as Answer does, and leaves a standing approval for calls like it,
// in one transaction. The error is one of Answer's, or wraps ErrStanding: nothing was taken then.
func (in *Inbox) Stand(ctx context.Context, a Answer, t StandingTerms) (out Standing, err error) {
	if err := t.check(); err != nil {
		return Standing{}, err
	}
	if a.Word != Yes || a.Edit != nil {
		return Standing{}, fmt.Errorf("%w: only a yes to the call as it is shown can be one", ErrStanding)
	}
	_, sheet, err := in.readShown(ctx, a.Approval)
	switch {
	case err != nil:
		return Standing{}, err
	case sheet == nil || sheet.Standing == nil:
		return Standing{}, fmt.Errorf("%w: more than a rule of permissions asks about it, or it is tainted, degraded or edited; "+
			"answer this call alone", ErrStanding)
	}
	_, err = in.submitAnswer(ctx, a, func(tx *store.Tx, i Item) error {
		if i.Digest != sheet.Digest {
			return &StaleError{i.ID}
		}
		if i.Needed > 1 {
			return fmt.Errorf("%w: %d people are needed each time; answer this call alone", ErrStanding, i.Needed)
		}
		out, err = in.insertStanding(tx, i, *sheet.Standing, t)
		return err
	})
	return out, err
}

// insertStanding writes a standing approval down, its limits sealed, with its record.
func (in *Inbox) insertStanding(tx *store.Tx, i Item, offer StandingOffer, t StandingTerms) (Standing, error) {
	made := in.o.Now().UTC().Truncate(time.Millisecond)
	s := Standing{
		ID: ids.New(), User: i.User, Skill: i.Skill, SkillDigest: offer.SkillDigest, Rule: offer.Rule, From: i.ID, By: i.By, Via: i.Via,
		Made: made, Expires: made.Add(t.For), Uses: t.Uses, State: StandingActive,
	}
	data, err := plainjson.Marshal(sealedStanding{V: 1, ID: s.ID, Match: offer.Match, By: s.By, Uses: s.Uses, Expires: s.Expires})
	if err != nil {
		return s, err
	}
	sealed, err := in.o.Journal.PutTx(tx, journal.Item{
		Call: refOfStanding(s.ID), User: s.User, Kind: kindStanding, Data: data, Expires: s.Expires,
	})
	if err != nil {
		return s, err
	}
	_, err = tx.Exec(sqlPutStanding, s.ID, offer.Match, s.User, s.Skill, s.SkillDigest, s.Rule, s.From, s.By, s.Via, s.Made.UnixMilli(),
		s.Expires.UnixMilli(), s.Uses, sealed)
	if err != nil {
		return s, err
	}
	return s, in.recordStanding(tx, s, i.Call, CodeStandingMade, s.By, s.Via)
}

// RecordStanding is the kind of record that the ledger has of a standing approval that was made or
// revoked. What a use of it allowed is a decision, whose approval gate names it.
const RecordStanding = "approval_standing"

// The codes of RecordStanding.
const (
	CodeStandingMade    = "standing_made"
	CodeStandingRevoked = "standing_revoked"
)

// standingBody is what the ledger holds of a standing approval: codes, names and numbers.
type standingBody struct {
	V           int       `json:"v"`
	Standing    string    `json:"standing"`
	Approval    string    `json:"approval"`
	By          string    `json:"by"`
	Via         string    `json:"via,omitempty"`
	Rule        string    `json:"rule"`
	SkillDigest string    `json:"skill_digest"`
	Uses        int       `json:"uses"`
	Used        int       `json:"used"`
	Expires     time.Time `json:"expires"`
}

// recordStanding leaves in the ledger who made or revoked a standing approval.
func (in *Inbox) recordStanding(tx *store.Tx, s Standing, call, code, by, via string) error {
	body, err := json.Marshal(standingBody{
		V: 1, Standing: s.ID, Approval: s.From, By: by, Via: via, Rule: s.Rule, SkillDigest: s.SkillDigest, Uses: s.Uses, Used: s.Used,
		Expires: s.Expires,
	})
	if err != nil {
		return err
	}
	_, err = in.o.Ledger.AppendTx(tx, ledger.Entry{
		ID: ids.New(), Time: in.o.Now(), Kind: RecordStanding, Call: call, Decision: s.From, User: s.User, Skill: s.Skill,
		Gate: sentinel.GateApproval, Code: code, Body: body,
	})
	return err
}

// ListStanding returns standing approvals, the oldest first.
func (in *Inbox) ListStanding(ctx context.Context, f StandingFilter) ([]Standing, error) {
	return ListStanding(ctx, in.o.Store.Reader(), f, in.o.Now())
}

// Revoke ends a standing approval in the name of a person, on record: no call that is not on its
// way runs by it. What was sealed of it is erased, and the record is looked at before each use: so an
// edit of its row brings nothing back, and neither does one of before. Of one that holds no more the
// revocation is on record all the same, once. id may be the beginning of one. The error wraps
// ErrUnknown or ErrAmbiguous, or is the store's.
func (in *Inbox) Revoke(ctx context.Context, id, by, via string) (out Standing, err error) {
	if by == "" || !isPlainName(by) || !isPlainName(via) {
		return Standing{}, fmt.Errorf("%w: who revokes and how is one line of at most %d bytes", ErrAnswer, MaxName)
	}
	err = in.o.Store.Submit(ctx, func(tx *store.Tx) error {
		s, err := findStandingTx(tx, id)
		if err != nil {
			return err
		}
		out = s.showAt(in.o.Now())
		return nil
	})
	if err != nil {
		return out, err
	}
	if before, err := in.isRevoked(ctx, out.ID); err != nil || before && out.State == StandingRevoked {
		return out, err
	}
	err = in.o.Store.Submit(ctx, func(tx *store.Tx) error {
		now := in.o.Now()
		out.State, out.RevokedBy, out.RevokedAt = StandingRevoked, by, now.UTC().Truncate(time.Millisecond)
		if _, err := tx.Exec(sqlRevoke, by, now.UnixMilli(), out.ID); err != nil {
			return err
		}
		// By its reference: the number in the row may be another's.
		if _, err := in.o.Journal.EraseTx(tx, journal.Owner{Call: refOfStanding(out.ID)}); err != nil {
			return err
		}
		return in.recordStanding(tx, out, refOfStanding(out.ID), CodeStandingRevoked, by, via)
	})
	return out, err
}
