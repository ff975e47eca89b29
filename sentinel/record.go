package sentinel

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/skills"
)

// The kinds of record.
const (
	RecordDecision = "decision" // what was decided; allowed: and that it started
	RecordHeld     = "held"     // a person is being asked
	RecordRefused  = "refused"  // a proposal that became no Call
	RecordOutcome  = "outcome"  // what became of an allowed call
	RecordShadow   = "shadow"   // what would have been decided about a call that went through whatever that is
	RecordPurge    = "purge"    // values of a user or a conversation were erased

	RecordReloaded      = "reloaded"       // another policy came in force
	RecordReloadRefused = "reload_refused" // it loosens, or needs a restart

	RecordValuesRead = "values_read" // a person was shown values of a call
)

// Record is one entry for the ledger, with the values that go to the journal
// in the same transaction. Body and the fields beside it hold no argument
// value, no result, no request and no mission.
type Record struct {
	Kind string
	ID   string
	At   time.Time
	// CallID is the id under which the call was proposed, also where rules rewrote it.
	// By this id the proposer finds the record.
	CallID       string
	DecisionID   string
	Conversation string
	User         string
	Agent        string
	Skill        string // empty for an unknown skill, and for a tool that the operator didn't name
	Outcome      string
	Gate         string
	Code         string
	Body         []byte
	// Deviation is how far a decided call is from what was asked for, in hundredths; nil where no gate could tell.
	Deviation *int
	Values    []Value
	// Parts are what the premises of the call shares with those of others: see ValuePremises. The
	// journal keeps each under its own name.
	Parts []PremisePart
	// Marks are kept until the user's values are purged, in whatever conversation.
	Marks []StoreMark
	// Habits are kept until they expire, or the user's values are purged.
	Habits []HabitRow
	// Spend is the id of the warrant that this record uses up; the commit
	// must fail where it was used before.
	Spend        string
	SpendExpires time.Time
	// Once is the id of a call that this record allows and no other may: the
	// commit must fail where one did. It holds for OnceFor at least, and for
	// as long as values are kept.
	Once    string
	OnceFor time.Duration
	// Check, where set, must be called within the transaction, before anything
	// is written: its error is Record's, and nothing is written then. It reads
	// no file and no more than a few entries of folders.
	Check func() error `json:"-"`
}

// Value is one value for the journal, sealed there.
type Value struct {
	// Name is args, evidence, proposed (before rules rewrote it), details, refusal, result, error, skill or premises.
	Name string
	Data []byte
}

// valueRefusal names a refusal as its agent was given it, valueSkill the name of a skill that the ledger doesn't hold.
const (
	valueRefusal = "refusal"
	valueSkill   = "skill"
)

// Recorder makes records durable: what is in r is on disk, all of it or none,
// when Record returns nil.
type Recorder interface {
	Record(ctx context.Context, r Record) error
}

// ValuesMode says how much of the arguments the ledger itself may hold.
type ValuesMode string

// The modes. Keys is the default and the only one without values.
const (
	ValuesKeys ValuesMode = "keys"
	ValuesHMAC ValuesMode = "hmac"
	ValuesFull ValuesMode = "full"
)

// body is what the ledger holds of a decision.
type body struct {
	V          int               `json:"v"`
	DecisionID string            `json:"decision"`
	CallID     string            `json:"call"`
	Grant      string            `json:"grant"`
	Follows    string            `json:"follows,omitempty"` // the call that made this one necessary
	Turn       string            `json:"turn,omitempty"`
	Intent     string            `json:"intent,omitempty"`   // the trusted intent under whose authority it is made
	Remote     string            `json:"remote,omitempty"`   // the principal who runs it elsewhere
	ReportBy   time.Time         `json:"report_by,omitzero"` // and until when they may say what became of it
	Effect     skills.Effect     `json:"effect,omitempty"`
	Outward    bool              `json:"outward"`
	Tainted    bool              `json:"tainted"`
	Taint      string            `json:"taint,omitempty"` // taintBefore, where it is of earlier turns alone
	MissionBy  Author            `json:"mission_by,omitempty"`
	SkillSpec  string            `json:"skill_digest,omitempty"`
	Policy     string            `json:"policy,omitempty"`
	Digest     string            `json:"digest"`
	ArgNames   []string          `json:"arg_names,omitempty"`
	Undeclared int               `json:"undeclared,omitempty"`
	ArgBytes   int               `json:"arg_bytes"`
	ArgHMACs   map[string]string `json:"arg_hmacs,omitempty"`
	Flags      []Flag            `json:"flags,omitempty"`
	Modified   *recordedModified `json:"modified,omitempty"`
	Args       json.RawMessage   `json:"args,omitempty"`
	Omitted    int               `json:"omitted,omitempty"` // values that were too many or too long
	Outcome    Outcome           `json:"outcome"`
	BlockedBy  string            `json:"blocked_by,omitempty"`
	Code       string            `json:"code,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Degraded   bool              `json:"degraded,omitempty"`
	Started    bool              `json:"started,omitempty"`
	Abandoned  bool              `json:"abandoned,omitempty"` // the caller left before it could start
	ElapsedUS  int64             `json:"elapsed_us"`
	Bound      []recordedBound   `json:"bound,omitempty"`
	AskedAt    time.Time         `json:"asked_at,omitzero"`   // of the first question
	ExpiresAt  time.Time         `json:"expires_at,omitzero"` // of the question
	AnsweredAt time.Time         `json:"answered_at,omitzero"`
	Approver   string            `json:"approver,omitempty"`
	Via        string            `json:"via,omitempty"`
	Gates      []recordedVerdict `json:"gates"`
}

// taintBefore is the taint of a call whose turn has read nothing of others.
const taintBefore = "before"

// wordOfTaint is what a record says of a call's taint beside that it has one.
func wordOfTaint(c Call) string {
	if c.Tainted() && !c.TaintedThisTurn() {
		return taintBefore
	}
	return ""
}

// recordMaker makes the records of decisions. It holds what it needs of Options.
type recordMaker struct {
	key      [32]byte // salts digests
	values   ValuesMode
	registry *skills.Registry
	kept     *keptParts // of premises; nil knows of none
}

// keyedDigest is a salted digest: without the key an attacker can't try values against it.
func (m recordMaker) keyedDigest(s string) string {
	h := hmac.New(sha256.New, m.key[:])
	h.Write([]byte(s))
	return "hmac:" + hex.EncodeToString(h.Sum(nil))
}

// newDecision is the record of a decision, or of a question to a person: see kind.
func (m recordMaker) newDecision(kind string, c Call, d Decision) Record {
	g := c.Grant()
	b := body{
		V: 1, DecisionID: d.ID, CallID: c.ID(), Grant: g.ID(), Turn: g.Turn(), Intent: g.Intent(), Remote: g.Remote(), ReportBy: d.reportBy.UTC(),
		Effect:  c.Effect(),
		Outward: c.Outward(), Tainted: c.Tainted(), Taint: wordOfTaint(c), MissionBy: g.MissionBy(), Policy: d.Policy,
		Digest: m.keyedDigest(d.Digest), ArgBytes: len(c.Args()), Outcome: d.Outcome, BlockedBy: d.BlockedBy,
		Bound: m.boundsOf(d.Bound), AskedAt: d.Asked.UTC(), ExpiresAt: d.Expires.UTC(),
		AnsweredAt: d.Answered.UTC(), Approver: d.Approver, Via: d.Via,
		Code: d.Code, Reason: d.Reason, Degraded: d.Degraded, Abandoned: d.abandoned, ElapsedUS: d.Elapsed.Microseconds(),
		Started: kind == RecordDecision && d.Outcome == Allow, Gates: recordVerdicts(d.Verdicts), Flags: c.Flags(),
	}
	r := Record{
		Kind: kind, ID: ids.New(), At: d.At, CallID: c.Proposed().ID(), DecisionID: d.ID, Conversation: g.Conversation(),
		User: g.User(), Agent: g.Agent(), Outcome: d.Outcome.String(), Gate: d.BlockedBy, Code: d.Code, Deviation: measureDeviation(d),
	}
	if first, ok := c.Follows(); ok {
		b.Follows = first.Proposed().ID()
	}
	if s := c.Skill(); s != nil {
		r.Skill, b.SkillSpec = c.RecordName(), s.Digest()
		shown := shownArgs(c, !wellFormed(d))
		m.describeArgs(&b, c, shown)
		r.Values = append(r.Values, Value{"args", shown})
		if !s.Named() {
			r.Values = append(r.Values, Value{valueSkill, []byte(s.Name())})
		}
	} else {
		b.Undeclared = len(c.Parsed())
		r.Values = append(r.Values, Value{"args", m.unknownArgs(c)}, Value{valueSkill, []byte(c.Name())})
	}
	m.describeRewrite(&b, &r, c)
	if ev := evidenceValue(c, d); ev != nil {
		r.Values = append(r.Values, Value{"evidence", ev})
	}
	if det := collectDetails(d.Verdicts); det != nil {
		r.Values = append(r.Values, Value{"details", det})
	}
	m.describePremises(&r, c, d)
	b.hideClaimed(c)
	r.Body = encodeJSON(b)
	return r
}

// measureDeviation says how far a call is from what was asked for, in hundredths: what the review's score lacks, or else
// the judge's. A call that its grant, a rule or the guard refused is as far as one can be. nil where none can tell.
func measureDeviation(d Decision) *int {
	far := 100
	by, _ := d.Verdict(d.BlockedBy)
	if d.Outcome == Deny && by.State == Judged && slices.Contains([]string{GateScope, GatePermission, GateGuard}, d.BlockedBy) {
		return &far
	}
	for _, gate := range []string{GateReview, GateJudge} {
		v, ok := d.Verdict(gate)
		switch {
		case !ok || v.Degraded || v.State != Judged && v.State != Shadow: // it couldn't tell
		case v.HasScore:
			far -= v.Score
			return &far
		case v.Outcome == Deny: // without a score
			return &far
		}
	}
	return nil
}

// evidenceValue is a call's evidence as the journal has it, nil where there is none. It is left
// out of a malformed call, in which a secret may stand under a name that is spelt wrong.
func evidenceValue(c Call, d Decision) []byte {
	if !wellFormed(d) {
		return nil
	}
	if v, _ := d.Verdict(GateReview); v.State == Judged {
		return c.ReviewEvidence().JournalJSON()
	}
	return c.Evidence().JournalJSON()
}

// encodeJSON writes plain data as JSON, which always works.
func encodeJSON(v any) []byte {
	b, _ := plainjson.Marshal(v)
	return b
}

// recordedBound is a Bound as the ledger holds it: digests are keyed, since a
// file's plain digest tells what it holds to everyone who has a copy.
type recordedBound struct {
	Arg     string `json:"arg"`
	Kind    string `json:"kind"`
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256,omitempty"`
	Real    string `json:"real,omitempty"` // keyed too: a path is a value
	Entries int    `json:"entries,omitempty"`
	Missing bool   `json:"missing,omitempty"`
}

// boundsOf is what a record says of the files that a person is asked about.
func (m recordMaker) boundsOf(list []Bound) []recordedBound {
	var out []recordedBound
	for _, b := range list {
		r := recordedBound{Arg: b.Arg, Kind: b.Kind, Size: b.Size, Entries: b.Entries, Missing: b.Missing}
		if b.Real != "" {
			r.Real = m.keyedDigest(b.Real)
		}
		if b.SHA256 != "" {
			r.SHA256 = m.keyedDigest(b.SHA256)
		}
		out = append(out, r)
	}
	return out
}

// The bounds of values in the ledger, whatever the mode: a record must fit.
const (
	maxHMACs    = 256
	maxFullArgs = 64 << 10
)

// describeArgs adds what the ledger may hold of the arguments, which are shown as
// the journal has them.
func (m recordMaker) describeArgs(b *body, c Call, shown []byte) {
	for k := range c.Parsed() {
		if c.Skill().ShowsArg(k) {
			b.ArgNames = append(b.ArgNames, k)
		} else {
			b.Undeclared++
		}
	}
	slices.Sort(b.ArgNames)
	switch m.values {
	case ValuesHMAC:
		b.ArgHMACs = map[string]string{}
		c.WalkArgs(func(a skills.Arg) {
			switch {
			case !a.Declared || a.Marks.Has(skills.Secret) || len(a.Pointer) > MaxID || c.Skill().Claimed():
			case len(b.ArgHMACs) >= maxHMACs:
				b.Omitted++
			default:
				b.ArgHMACs[a.Pointer] = m.keyedDigest(string(encodeJSON(a.Value)))
			}
		})
	case ValuesFull:
		if len(shown) <= maxFullArgs {
			b.Args = shown
		} else {
			b.Omitted = 1
		}
	}
}

// refusedBody is what the ledger holds of a proposal that became no Call.
type refusedBody struct {
	V          int               `json:"v"`
	DecisionID string            `json:"decision"`
	CallID     string            `json:"call"`
	Grant      string            `json:"grant"`
	Turn       string            `json:"turn,omitempty"`
	Code       string            `json:"code"`
	Reason     string            `json:"reason"`
	ArgBytes   int               `json:"arg_bytes"`
	Suppressed int               `json:"suppressed,omitempty"`
	Gates      []recordedVerdict `json:"gates"`
}

func refusedRecord(g Grant, d Decision, argBytes, suppressed int) Record {
	b := encodeJSON(refusedBody{
		V: 1, DecisionID: d.ID, CallID: d.CallID, Grant: g.ID(), Turn: g.Turn(), Code: d.Code, Reason: d.Reason,
		ArgBytes: argBytes, Suppressed: suppressed, Gates: recordVerdicts(d.Verdicts),
	})
	return Record{
		Kind: RecordRefused, ID: ids.New(), At: d.At, CallID: d.CallID, DecisionID: d.ID, Conversation: g.Conversation(),
		User: g.User(), Agent: g.Agent(), Outcome: d.Outcome.String(), Gate: d.BlockedBy, Code: d.Code, Body: b,
	}
}

// The statuses of an outcome record.
const (
	StatusOK      = "ok"
	StatusFailed  = "failed"
	StatusUnknown = "unknown"
	// StatusForwarded is of a call that its caller was handed in an answer. What became of it a later outcome says,
	// where that gets known.
	StatusForwarded = "forwarded"
)

// outcomeBody is what the ledger holds of what became of an allowed call.
type outcomeBody struct {
	V          int    `json:"v"`
	DecisionID string `json:"decision"`
	CallID     string `json:"call"`
	Status     string `json:"status"`
	Code       string `json:"code,omitempty"`
	Bytes      int    `json:"bytes"`
	Trust      string `json:"trust,omitempty"`
	Isolation  string `json:"isolation,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"`
	Template   bool   `json:"template,omitempty"`
	// Marks are what the result looks like: codes of TextMarks.
	Marks []string `json:"marks,omitempty"`
	// Report is a keyed digest of what the caller reported.
	Report string `json:"report,omitempty"`
	// Egress counts what a sandboxed program did on the network.
	Egress    *skills.Egress `json:"egress,omitempty"`
	ElapsedUS int64          `json:"elapsed_us"`
}

func outcomeRecord(c Call, d Decision, b outcomeBody, values []Value, at time.Time) Record {
	g := c.Grant()
	b.V, b.DecisionID, b.CallID = 1, d.ID, c.ID()
	raw := encodeJSON(b)
	return Record{
		Kind: RecordOutcome, ID: ids.New(), At: at, CallID: c.Proposed().ID(), DecisionID: d.ID, Conversation: g.Conversation(),
		User: g.User(), Agent: g.Agent(), Skill: c.Name(), Outcome: b.Status, Code: b.Code, Body: raw, Values: values,
	}
}

// describeRewrite adds to a record what rules changed: both digests, and the
// arguments as proposed for the journal.
func (m recordMaker) describeRewrite(b *body, r *Record, c Call) {
	mod, ok := c.Modified()
	if !ok {
		return
	}
	b.Modified = &recordedModified{
		CallID: mod.Call, Digest: m.keyedDigest(mod.Digest), Rules: append([]string{}, mod.Rules...), Args: mod.Args,
		ArgBytes: len(c.Proposed().Args()),
	}
	if e, ok := c.Edited(); ok {
		b.Modified.EditedBy, b.Modified.EditedOf = e.By, e.Decision
	}
	r.Values = append(r.Values, Value{"proposed", shownArgs(c.Proposed(), true)}) // no gate has looked at these
}

// recordedModified is what the ledger holds of a rewrite.
type recordedModified struct {
	CallID   string   `json:"call"`
	Digest   string   `json:"digest"`
	Rules    []string `json:"rules"`
	Args     []string `json:"args,omitempty"`
	ArgBytes int      `json:"arg_bytes"`
	EditedBy string   `json:"edited_by,omitempty"`
	EditedOf string   `json:"edited_of,omitempty"` // the decision about the call as it was before a person edited it
}

// unknownArgs are the arguments of a call of an unknown skill as the journal may
// have them. No schema says what in them is secret; the skill may be one of the
// grant's, spelt wrong, so if any of those has secrets they are hidden whole.
func (m recordMaker) unknownArgs(c Call) []byte {
	if m.registry.TakesSecrets(c.Grant().Scope()) {
		return []byte(skills.HiddenArgs)
	}
	return []byte(c.Args())
}

// shownArgs are the arguments of a call of a known skill as the journal may have
// them. In a malformed call a secret may stand under a name that is spelt wrong,
// so what no schema names is hidden too.
func shownArgs(c Call, malformed bool) []byte {
	if malformed {
		if shown, hidden := c.Skill().Redact([]byte(c.Args())); hidden {
			return shown
		}
	}
	return encodeJSON(c.Skill().WithoutSecrets(c.Parsed()))
}

// wellFormed reports whether the schema has let the call through; one that was
// stopped before has not been looked at.
func wellFormed(d Decision) bool {
	v, ok := d.Verdict(GateSchema)
	return ok && v.State == Judged && v.Outcome == Allow
}
