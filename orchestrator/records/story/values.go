package story

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/internal/textcut"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// Options are what a Teller tells from. All of them are required, Now aside.
type Options struct {
	Store   *store.Store
	Ledger  *ledger.Ledger
	Journal *journal.Journal
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Teller tells stories, with values where it is asked for them. It is safe for concurrent use.
type Teller struct{ o Options }

// New returns a Teller.
func New(o Options) *Teller {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Teller{o}
}

// Tell returns what the ledger holds of a call: see Read.
func (t *Teller) Tell(ctx context.Context, id string) (Story, error) {
	return Read(ctx, t.o.Ledger, id)
}

// TellWithValues returns a story with the values that the journal still has. That they were read is on
// record before: where it can't be, no value is opened and the error says so. The caller has made sure
// that the reader has the right.
func (t *Teller) TellWithValues(ctx context.Context, id string, who Reader) (Story, error) {
	s, err := t.Tell(ctx, id)
	if err != nil || s.About == nil {
		return s, err
	}
	reading, err := t.record(ctx, &s, who)
	if err != nil {
		return s, err
	}
	s.Opened = &reading
	return s, t.open(ctx, &s)
}

// record writes down who is shown values, and of which decision.
func (t *Teller) record(ctx context.Context, s *Story, who Reader) (Reading, error) {
	if who.By == "" || who.Via == "" {
		return Reading{}, fmt.Errorf("a reading without a reader can't be put on record, so no value is shown")
	}
	body, err := json.Marshal(readingBody{1, who.By, who.Via, s.Record.ID, s.About.Decision, s.About.ID})
	if err != nil {
		return Reading{}, err
	}
	// The record has no call: what looks for the records of a call must not wade through readings.
	e := ledger.Entry{
		ID: ids.New(), Time: t.o.Now(), Kind: sentinel.RecordValuesRead, Conversation: s.About.Conversation, User: s.About.User, Body: body,
	}
	err = t.o.Store.Submit(ctx, func(tx *store.Tx) error {
		_, err := t.o.Ledger.AppendTx(tx, e)
		return err
	})
	if err != nil {
		return Reading{}, fmt.Errorf("the reading can't be put on record, so no value is shown: %w", err)
	}
	return Reading{e.ID, e.Time, who.By, who.Via}, nil
}

// The bounds of values in a story, in bytes. What is longer is shortened, and says its size.
const (
	maxValue     = 256 << 10
	maxStepValue = 2 << 10
)

// kindRequest is the kind of the value that holds a turn's request, under the turn.
const kindRequest = "request"

// opener opens the values of one story.
type opener struct {
	*Teller
	s    *Story
	gone Text // why values are missing; zero until it was asked for
}

// open puts the values of the journal into the story.
func (t *Teller) open(ctx context.Context, s *Story) error {
	o := &opener{Teller: t, s: s}
	kept, err := o.readCall(ctx, s.About, s.About.ID)
	if err != nil {
		return err
	}
	absent, err := o.absent(ctx, len(kept) > 0)
	if err != nil {
		return err
	}
	if s.About.Kind != sentinel.RecordRefused {
		if err := o.openCall(ctx, kept, absent); err != nil {
			return err
		}
	}
	if err := o.openRequest(ctx); err != nil {
		return err
	}
	for i := range s.Steps {
		if err := o.openStep(ctx, &s.Steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// openStep puts arguments and result of an earlier call into the story.
func (o *opener) openStep(ctx context.Context, step *Step) error {
	kept, err := o.readCall(ctx, o.s.About, step.call)
	if err != nil {
		return err
	}
	absent, err := o.absent(ctx, len(kept) > 0)
	if err != nil {
		return err
	}
	step.Arguments, step.Result = kept.text("args", absent, maxStepValue), kept.text("result", absent, maxStepValue)
	if step.Result.State != Kept {
		step.Result = kept.text("error", step.Result, maxStepValue)
	}
	return nil
}

// absent says why a value isn't there. Values of one call come and go together: others says that some
// are there.
func (o *opener) absent(ctx context.Context, others bool) (Text, error) {
	if others {
		return Text{State: None, Why: "there is none"}, nil
	}
	if o.gone.State != "" {
		return o.gone, nil
	}
	if o.gone = o.s.Values.Request; o.gone.State == Erased {
		return o.gone, nil
	}
	purged := Text{}
	if o.s.About.User != "" {
		var err error
		if purged, err = findPurge(ctx, o.o.Ledger, ledger.Query{User: o.s.About.User, AfterIndex: &o.s.index}); err != nil {
			return Text{}, err
		}
	}
	if o.gone = purged; purged.State != Erased {
		o.gone = Text{State: Expired, Why: "it is kept no longer: its retention is over"}
	}
	return o.gone, nil
}

// callValues are the newest values of a call by their kind.
type callValues map[string][]byte

// readCall opens what the journal has of a call of the same user and conversation.
func (t *Teller) readCall(ctx context.Context, about *Call, call string) (callValues, error) {
	list, err := t.o.Journal.ByCall(ctx, call)
	if err != nil {
		return nil, err
	}
	out := callValues{}
	for _, v := range list {
		if v.User == about.User && v.Conversation == about.Conversation {
			out[v.Kind] = v.Data
		}
	}
	return out, nil
}

// text returns the value of a kind, or absent.
func (v callValues) text(kind string, absent Text, most int) Text {
	data, ok := v[kind]
	if !ok {
		return absent
	}
	return newText(data, most)
}

// newText is a value as a story has it.
func newText(data []byte, most int) Text {
	if !utf8.Valid(data) {
		return Text{State: Kept, Base64: data[:min(len(data), most)], Bytes: len(data)}
	}
	out := Text{State: Kept, Text: string(data)}
	if len(data) > most {
		out.Text, out.Bytes = textcut.Head(out.Text, most), len(data)
	}
	return out
}

// openCall puts the values of the call itself into the story.
func (o *opener) openCall(ctx context.Context, kept callValues, absent Text) error {
	v := &o.s.Values
	for kind, into := range map[string]*Text{
		"args": &v.Arguments, "proposed": &v.Proposed, "skill": &v.Skill, "evidence": &v.Evidence, "result": &v.Result, "error": &v.Failure,
	} {
		*into = kept.text(kind, absent, maxValue)
	}
	o.s.openDetails(kept, absent)
	known, err := sentinel.RecallSituation(kept, func(ref string) ([]byte, error) { return o.findPart(ctx, ref) })
	if errors.Is(err, sentinel.ErrNotKept) {
		switch _, part := kept[sentinel.ValuePremises]; {
		case part:
			absent = Text{State: Expired, Why: "it is kept no longer: its retention is over"}
		case absent.State == None:
			absent.Why = "there is none: an earlier version of the program did not keep it"
		}
		v.Before, v.Mission, v.Request, v.TouchState = absent, absent, absent, absent
		return nil
	}
	if err != nil {
		return err
	}
	v.Before, v.Mission, v.Request, v.TouchState = Text{State: None, Why: "there is none"},
		newText([]byte(known.Mission), maxValue), Text{State: None, Why: "there is none: the call came without a person's request"},
		Text{State: Kept}
	v.Mission.Bytes = max(v.Mission.Bytes, known.MissionBytes)
	if known.Request != nil {
		v.Request = newText([]byte(*known.Request), maxValue)
		v.Request.Bytes = max(v.Request.Bytes, known.RequestBytes)
	}
	if known.Before != "" {
		v.Before = newText([]byte(known.Before), maxValue)
	}
	if len(known.Touches) > 0 {
		v.Touches = known.Touches
	}
	return nil
}

// kindPart is recorder.KindPart.
const kindPart = "premises.part"

// findPart reads what the call's premises share with those of others. Each part is one user's, in one conversation.
func (o *opener) findPart(ctx context.Context, ref string) ([]byte, error) {
	found, err := o.o.Journal.ByCalls(ctx, []string{ref}, []string{kindPart})
	if err != nil {
		return nil, err
	}
	for _, v := range slices.Backward(found[ref]) {
		if v.User == o.s.About.User && v.Conversation == o.s.About.Conversation {
			return v.Data, nil
		}
	}
	return nil, sentinel.ErrNotKept
}

// openDetails puts what the gates said in free words into the story.
func (s *Story) openDetails(kept callValues, absent Text) {
	details := map[string]string{}
	_ = json.Unmarshal(kept["details"], &details) // without any it is empty
	for i := range s.Gates {
		g := &s.Gates[i]
		if g.Said = absent; details[g.Gate] != "" {
			g.Said = newText([]byte(details[g.Gate]), maxValue)
		}
	}
}

// openRequest puts the whole request of the turn into the story, where the turn has kept it.
func (o *opener) openRequest(ctx context.Context) error {
	about, request := o.s.About, &o.s.Values.Request
	if about.Turn == "" || about.User == "" || about.Conversation == "" { // an empty name would match those of all users
		return nil
	}
	list, err := o.o.Journal.Find(ctx, journal.Query{
		Call: about.Turn, Conversation: about.Conversation, User: about.User, Kind: kindRequest, Newest: true, Limit: 1,
	})
	if err != nil {
		return err
	}
	if len(list) > 0 {
		*request = newText(list[0].Data, maxValue)
	} else if request.State == Sealed {
		*request, err = o.absent(ctx, false)
	}
	return err
}
