package intake

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/intent/compare"
	"github.com/vedette-dev/vedette/sentinel/intent/detect"
	"github.com/vedette-dev/vedette/sentinel/intent/vote"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// The kinds of records of a request. All have the request's id as their call. Names that are stored don't change.
const (
	// RecordRequest says what the stages found and how the request goes on. Its outcome is accepted, pending_confirmation,
	// pending_approval, blocked, denied or failed.
	RecordRequest = "intent_request"
	// RecordElevation says what an approver's question came to: approved, denied, expired or cancelled.
	RecordElevation = "intent_elevation"
	// RecordConfirmation says what the user answered: confirmed, declined or expired.
	RecordConfirmation = "intent_confirmation"
	// RecordTrusted is the intent that was signed and used up. What it allows may have begun.
	RecordTrusted = "intent_trusted"
	// RecordEnd says that nothing more can come of a request that was not ended by its first record.
	RecordEnd = "intent_end"
)

// Kinds lists the kinds of records of requests.
func Kinds() []string {
	return []string{RecordRequest, RecordElevation, RecordConfirmation, RecordTrusted, RecordEnd}
}

// Outcomes lists the outcomes of records of requests.
func Outcomes() []string {
	return []string{
		outcomeAccepted, string(PendingConfirmation), string(PendingApproval), string(Blocked), string(Denied), string(Failed),
		string(Completed), string(Expired), string(Unknown), approved, confirmed, declined, outcomeTrusted,
	}
}

// Gates lists the stages that records of requests name.
func Gates() []string {
	return []string{gateDetector, gateParsers, gateVote, gateComparison, gateConfirmation, gateApproval, gateAction, gateRate}
}

// outcomeTrusted is the outcome of a signed intent's record.
const outcomeTrusted = "trusted"

// outcomeAccepted is the outcome of a request that goes on at once.
const outcomeAccepted = "accepted"

// agentName is the agent in the records of requests.
const agentName = "intent"

// The kinds of values of a request in the journal.
const (
	valueRequest = "intent.request" // intents, evidence, explanation, the client's word for itself
	valueText    = "intent.text"
	valueToken   = "intent.token" // the signed intent
	valueResult  = "intent.result"
)

// requestBody is what the ledger holds of a request: codes, names, numbers and keyed digests.
type requestBody struct {
	V          int                 `json:"v"`
	Input      string              `json:"input"` // keyed digest of the text
	Bytes      int                 `json:"bytes"`
	Client     string              `json:"client,omitempty"`     // address, shortened
	Agent      string              `json:"user_agent,omitempty"` // keyed digest
	By         string              `json:"by,omitempty"`
	Detector   recordedDetection   `json:"detector"`
	Parsers    []recordedParser    `json:"parsers,omitempty"`
	Vote       *recordedVote       `json:"vote,omitempty"`
	Comparison *recordedComparison `json:"comparison,omitempty"`
	Elevation  *recordedElevation  `json:"elevation,omitempty"`
	Confirm    *recordedConfirm    `json:"confirmation,omitempty"`
	Policy     string              `json:"policy,omitempty"`
	Took       Took                `json:"took_us"`
}

type recordedDetection struct {
	Verdict    detect.Verdict  `json:"verdict"`
	Score      int             `json:"score"`
	Hits       []recordedHit   `json:"hits,omitempty"`
	Classifier *ClassifierInfo `json:"classifier,omitempty"`
}

type recordedHit struct {
	ID    string   `json:"id"`
	Score int      `json:"score"`
	Via   []string `json:"via,omitempty"`
}

type recordedParser struct {
	Parser     string          `json:"parser"`
	Trust      int             `json:"trust"`
	Confidence int             `json:"confidence,omitempty"`
	Action     string          `json:"action,omitempty"`
	Digest     string          `json:"digest,omitempty"` // keyed
	Intent     json.RawMessage `json:"intent,omitempty"` // with ledger.values full
	Failure    string          `json:"failure,omitempty"`
	TookUS     int64           `json:"took_us"`
}

type recordedVote struct {
	Parser    string         `json:"parser"`
	Level     vote.Level     `json:"level"`
	Agreement vote.Agreement `json:"agreement"`
	Average   float64        `json:"average"`
	Minimum   float64        `json:"minimum"`
	Disputed  bool           `json:"disputed,omitempty"`
	Pairs     []vote.Pair    `json:"pairs,omitempty"`
}

type recordedComparison struct {
	Verdict    compare.Verdict    `json:"verdict"`
	Mismatches []recordedMismatch `json:"mismatches,omitempty"`
}

type recordedMismatch struct {
	Field   string          `json:"field"`
	Code    string          `json:"code"`
	Verdict compare.Verdict `json:"verdict"`
}

type recordedElevation struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Call and Decision name the call agent.elevate and its decision.
	Call     string    `json:"call,omitempty"`
	Decision string    `json:"decision,omitempty"`
	By       string    `json:"by,omitempty"`
	Via      string    `json:"via,omitempty"`
	At       time.Time `json:"at,omitzero"`
	// Chosen is the parser whose intent the approver chose, where it is another than the vote's.
	Chosen string `json:"chosen,omitempty"`
}

type recordedConfirm struct {
	Digest  string    `json:"digest,omitempty"` // keyed
	Expires time.Time `json:"expires,omitzero"`
}

// trustedBody is what the ledger holds of a trusted intent.
type trustedBody struct {
	V       int             `json:"v"`
	Intent  string          `json:"intent"`
	Action  string          `json:"action"`
	Digest  string          `json:"digest"` // keyed, of the content hash
	Key     string          `json:"key"`
	Expires time.Time       `json:"expires"`
	Token   json.RawMessage `json:"token,omitempty"` // with ledger.values full
}

// endBody is what the ledger holds of a request's end.
type endBody struct {
	V      int    `json:"v"`
	Intent string `json:"intent,omitempty"`
	Result string `json:"result,omitempty"` // keyed digest
	Bytes  int    `json:"bytes,omitempty"`
	TookUS int64  `json:"took_us,omitempty"`
	// Call is the call of the action's skill.
	Call string `json:"call,omitempty"`
}

// book writes down what becomes of requests, and reads it.
type book struct{ o *Options }

// keyed is a digest that says nothing without the key.
func (k *book) keyed(b []byte) string {
	h := hmac.New(sha256.New, k.o.DigestKey[:])
	h.Write([]byte("vedette/intake/v1\n"))
	h.Write(b)
	return "hmac:" + hex.EncodeToString(h.Sum(nil))
}

// owner is whose request a record is of.
type owner struct {
	request, user, session string
	// text is the journal's id of the text that is kept while the request waits; 0 for none.
	text int64
}

func ownerOf(r Request) owner { return owner{request: r.ID, user: r.User, session: r.Session} }

// append adds a record of a request.
func (k *book) addRecord(tx *store.Tx, o owner, kind, outcome, gate, code string, body any) error {
	raw, err := plainjson.Marshal(body)
	if err != nil {
		return err
	}
	id := ids.New()
	if kind == RecordRequest { // its id is the request's, so that no other has it
		id = o.request
	}
	_, err = k.o.Ledger.AppendTx(tx, ledger.Entry{
		ID: id, Time: k.o.Now(), Kind: kind, Call: o.request, Conversation: o.session, User: o.user, Agent: agentName, Outcome: outcome,
		Gate: gate, Code: code, Body: raw,
	})
	return err
}

// keepValue seals a value of a request.
func (k *book) keepValue(tx *store.Tx, o owner, kind string, data []byte, expires time.Time) (id int64, err error) {
	return k.o.Journal.PutTx(tx, journal.Item{
		Call: o.request, Conversation: o.session, User: o.user, Kind: kind, Name: RecordRequest, Data: data, Expires: expires,
	})
}

// keptRequest is what is sealed of a request.
type keptRequest struct {
	V         int           `json:"v"`
	Status    Status        `json:"status"`
	Code      string        `json:"code,omitempty"`
	Message   string        `json:"message,omitempty"`
	By        string        `json:"by,omitempty"`
	Principal string        `json:"principal,omitempty"`
	Agent     string        `json:"user_agent,omitempty"`
	Canonical *intent.Draft `json:"canonical,omitempty"`
	Parser    string        `json:"parser,omitempty"`
	Parsers   []keptParser  `json:"parsers,omitempty"`
	Reasons   []string      `json:"reasons,omitempty"`
	Expires   time.Time     `json:"expires,omitzero"`
	Turn      bool          `json:"turn,omitempty"` // it is of a conversation
	Info      Info          `json:"info"`
}

type keptParser struct {
	Parser string       `json:"parser"`
	Draft  intent.Draft `json:"draft"`
}

// textGrace is how long the text of a request that waits is kept at most: longer than people may take to answer. Its end
// erases it.
const textGrace = 32 * 24 * time.Hour

// recordRequest writes down what the stages found, with its values. It is the first record of a request.
func (k *book) recordRequest(tx *store.Tx, c *considered) error {
	o := ownerOf(c.request)
	kept := keptRequest{
		V: 1, Status: c.status, Code: c.code, Message: c.message, By: c.request.By, Principal: c.request.Principal,
		Agent:   cutAgent(c.request.Client.Agent),
		Reasons: c.reasons, Expires: c.expires, Info: c.info, Parser: c.vote.Parser, Turn: c.request.turn,
	}
	if !c.canonical.IsZero() {
		d := c.canonical.Draft()
		kept.Canonical = &d
	}
	for _, i := range c.info.Parsers {
		if i.Failure == "" {
			kept.Parsers = append(kept.Parsers, keptParser{i.Parser, i.built.Draft()})
		}
	}
	raw, err := plainjson.Marshal(kept)
	if err != nil {
		return err
	}
	if _, err := k.keepValue(tx, o, valueRequest, raw, time.Time{}); err != nil {
		return err
	}
	switch {
	case k.o.Texts == TextsFull:
		_, err = k.keepValue(tx, o, valueText, []byte(c.request.Text), time.Time{})
	case !c.status.IsEnd() && (c.status != Running || k.o.Actions[c.canonical.Action().String()].Skill != ""):
		c.text, err = k.keepValue(tx, o, valueText, []byte(c.request.Text), k.o.Now().Add(textGrace))
	}
	if err != nil {
		return err
	}
	outcome := string(c.status)
	if c.status == Running {
		outcome = outcomeAccepted
	}
	return k.addRecord(tx, o, RecordRequest, outcome, c.gate, c.code, k.bodyOf(c))
}

// maxAgent bounds the client's word for itself in bytes.
const maxAgent = 512

// cutAgent is as much of a client's word for itself as is kept.
func cutAgent(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxAgent)], "") }

// bodyOf is what the ledger holds of a request.
func (k *book) bodyOf(c *considered) requestBody {
	r := c.request
	b := requestBody{
		V: 1, Input: k.keyed([]byte(r.Text)), Bytes: len(r.Text), Client: k.shorten(r.Client.Address), By: r.By, Policy: k.o.PolicyDigest,
		Took: c.info.Took, Detector: recordedDetection{c.info.Detection.Verdict, c.info.Detection.Score, detected(c.info.Detection),
			c.info.Classifier},
	}
	if r.Client.Agent != "" {
		b.Agent = k.keyed([]byte(r.Client.Agent))
	}
	for _, i := range c.info.Parsers {
		one := recordedParser{Parser: i.Parser, Trust: i.Trust, Confidence: i.Confidence, Failure: i.Failure, TookUS: i.TookUS}
		if i.Failure == "" {
			one.Action, one.Digest = i.built.Action().String(), k.keyed(i.Intent)
			if k.o.Values == sentinel.ValuesFull {
				one.Intent = i.Intent
			}
		}
		b.Parsers = append(b.Parsers, one)
	}
	if v := c.info.Vote; v != nil {
		b.Vote = &recordedVote{v.Parser, v.Level, v.Agreement, v.Average, v.Minimum, v.Disputed, v.Pairs}
	}
	if v := c.info.Comparison; v != nil {
		b.Comparison = &recordedComparison{Verdict: v.Verdict}
		for _, m := range v.Mismatches {
			b.Comparison.Mismatches = append(b.Comparison.Mismatches, recordedMismatch{m.Field, m.Code, m.Verdict})
		}
	}
	switch c.status {
	case PendingApproval:
		b.Elevation = &recordedElevation{Status: "pending", Reason: c.reasons[0], Call: elevationCall(r.ID)}
	case PendingConfirmation:
		b.Confirm = &recordedConfirm{k.keyed([]byte(c.canonical.Digest())), c.expires.UTC()}
	}
	return b
}

// shorten is as much of a client's address as is kept.
func (k *book) shorten(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || k.o.Addresses == AddressesNone {
		return ""
	}
	a = a.Unmap().WithZone("")
	if k.o.Addresses == AddressesFull {
		return a.String()
	}
	bits := 48
	if a.Is4() {
		bits = 24
	}
	prefix, err := a.Prefix(bits)
	if err != nil {
		return ""
	}
	return prefix.String()
}

// recordTrusted writes down a signed intent and uses it up: the point of no return.
func (k *book) recordTrusted(tx *store.Tx, o owner, t intent.Trusted) error {
	if err := store.Spend(tx, "intent/"+t.ID(), t.Expires().Add(spentGrace)); err != nil {
		return err
	}
	// One request is trusted once, however often it is tried.
	if err := store.Spend(tx, "intent-request/"+o.request, k.o.Now().Add(maxAge)); err != nil {
		return err
	}
	if _, err := k.keepValue(tx, o, valueToken, t.Token(), time.Time{}); err != nil {
		return err
	}
	b := trustedBody{V: 1, Intent: t.ID(), Action: t.Action().String(), Digest: k.keyed([]byte(t.ContentHash())), Key: t.Key(),
		Expires: t.Expires()}
	if k.o.Values == sentinel.ValuesFull {
		b.Token = t.Token()
	}
	return k.addRecord(tx, o, RecordTrusted, outcomeTrusted, "", "", b)
}

// spentGrace is how much longer than it is valid a used intent is remembered.
const spentGrace = 24 * time.Hour

// recordElevation writes down what an approver's question came to.
func (k *book) recordElevation(tx *store.Tx, w *waiting, outcome, code, chosen string, e elevation) error {
	return k.addRecord(tx, w.owner, RecordElevation, outcome, gateApproval, code, recordedElevation{
		Status: outcome, Reason: w.reason, Call: elevationCall(w.owner.request), Decision: e.decision, By: e.by, Via: e.via, At: e.at,
		Chosen: chosen,
	})
}

// recordConfirmation writes down what the user's confirmation came to, once.
func (k *book) recordConfirmation(tx *store.Tx, o owner, outcome, code, digest string) error {
	if err := store.Spend(tx, "intent-confirmation/"+o.request, k.o.Now().Add(maxAge)); err != nil {
		return err
	}
	var b recordedConfirm
	if digest != "" {
		b.Digest = k.keyed([]byte(digest))
	}
	return k.addRecord(tx, o, RecordConfirmation, outcome, gateConfirmation, code, b)
}

// recordEnd writes down a request's end with its result, once.
func (k *book) recordEnd(tx *store.Tx, o owner, a Answer, b endBody) error {
	if err := store.Spend(tx, "intent-end/"+o.request, k.o.Now().Add(maxAge)); err != nil {
		return err
	}
	if o.text != 0 && k.o.Texts != TextsFull {
		if _, err := k.o.Journal.EraseValuesTx(tx, o.text); err != nil {
			return err
		}
	}
	b.V = 1
	if a.Result != nil {
		b.Result, b.Bytes = k.keyed(a.Result), len(a.Result)
		if _, err := k.keepValue(tx, o, valueResult, a.Result, time.Time{}); err != nil {
			return err
		}
	}
	return k.addRecord(tx, o, RecordEnd, string(a.Status), gateOfCode(a.Code), a.Code, b)
}

// gateOfCode is the stage that a code is of.
func gateOfCode(code string) string {
	switch code {
	case CodeRefused, CodeNotAsked, CodeEdited:
		return gateApproval
	case CodeDeclined, CodeExpired:
		return gateConfirmation
	case "":
		return ""
	}
	return gateAction
}

// open writes down what the stages found of a request.
func (k *book) open(ctx context.Context, c *considered) error {
	return k.submit(ctx, func(tx *store.Tx) error { return k.recordRequest(tx, c) })
}

// submit writes to the store; whatever keeps it from that is ErrNotRecorded.
func (k *book) submit(ctx context.Context, fn func(*store.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	err := k.o.Store.Submit(ctx, fn)
	switch {
	case err == nil, errors.Is(err, store.ErrSpent):
		return err
	case errors.Is(err, ledger.ErrDuplicate):
		return &InputError{"id", "is that of another request"}
	}
	k.o.Log.Error("a record of an intent could not be written", "error", err)
	return fmt.Errorf("%w: %w", ErrNotRecorded, err)
}

// recordTime bounds the wait for the store.
const recordTime = 30 * time.Second
