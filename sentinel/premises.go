package sentinel

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// ValuePremises names the premises of a call, as the journal keeps them: its grant, its trace and what it would
// touch. With the arguments it is all that the rules go by, so that another configuration can be asked later, and
// that people look into: see RecallSituation.
const ValuePremises = "premises"

// PremisePart is a part that the premises of many calls share. The journal keeps it once, under Ref.
type PremisePart struct {
	// Ref names the part by a salted digest. Two users never share one.
	Ref  string
	Data []byte
}

// keptPremises is the premises of a call as the journal has it. Texts stand in parts. Of a long list the end stands
// here, and the parts StepsBefore, HeardBefore and TriedBefore have what comes before it. Version 1 had whole lists,
// and no Touches: a value "situation" beside it had those, with request and mission.
type keptPremises struct {
	V             int           `json:"v"`
	Base          string        `json:"base"`
	Tainted       bool          `json:"tainted,omitempty"`
	TaintedBefore bool          `json:"tainted_before,omitempty"`
	BeforeTaint   []string      `json:"before_taint,omitempty"`
	Steps         []string      `json:"steps,omitempty"`
	StepsBefore   string        `json:"steps_before,omitempty"`
	Heard         []keptPlace   `json:"heard,omitempty"`
	HeardBefore   string        `json:"heard_before,omitempty"`
	Tried         []keptPlace   `json:"tried,omitempty"`
	TriedBefore   string        `json:"tried_before,omitempty"`
	Refused       []PastRefusal `json:"refused,omitempty"`
	Question      string        `json:"question,omitempty"`
	// Touches are empty where the call was malformed: a secret may stand under a name that is spelt wrong.
	Touches []Touched `json:"touches,omitempty"`
}

// premisesVersion is the version that is written; earlier ones are read.
const premisesVersion = 2

// keptBlock is a part that holds blockSize items of a list, and names the part with those before them.
type keptBlock struct {
	Before string      `json:"before,omitempty"`
	Steps  []string    `json:"steps,omitempty"`
	Places []keptPlace `json:"places,omitempty"`
}

// blockSize is how many items of a list stand in one part. So what a decision writes stays the same, however many
// steps came before it.
const blockSize = 64

// keptPlace is a step of others, or a call that never ran, after so many steps.
type keptPlace struct {
	At   int    `json:"at"`
	Step string `json:"step"`
	By   string `json:"by,omitempty"`
	N    int    `json:"n,omitempty"`
}

// keptBase is what stays the same over many calls of an agent.
type keptBase struct {
	Grant          string     `json:"grant"`
	User           string     `json:"user,omitempty"`
	Conversation   string     `json:"conversation"`
	Turn           string     `json:"turn,omitempty"`
	Agent          string     `json:"agent"`
	Remote         string     `json:"remote,omitempty"`
	Proposer       string     `json:"proposer,omitempty"`
	Mission        string     `json:"mission,omitempty"`
	MissionBy      Author     `json:"mission_by,omitempty"`
	MissionTainted bool       `json:"mission_tainted,omitempty"`
	Request        *string    `json:"request,omitempty"`
	Scope          []string   `json:"scope,omitempty"`
	Calls          int        `json:"calls,omitempty"`
	Deadline       time.Time  `json:"deadline,omitzero"`
	Said           []keptSaid `json:"said,omitempty"`
	Earlier        []string   `json:"earlier,omitempty"`
	Past           []string   `json:"past,omitempty"`
}

type keptSaid struct {
	Words   string `json:"words,omitempty"`
	Tainted bool   `json:"tainted,omitempty"`
}

// keptStep is a step. Its result stands here, or is the one that the journal has of the call ResultOf.
type keptStep struct {
	Skill          string        `json:"skill,omitempty"`
	Call           string        `json:"call,omitempty"`
	Args           string        `json:"args,omitempty"`
	Result         string        `json:"result,omitempty"`
	ResultOf       string        `json:"result_of,omitempty"`
	Trust          skills.Trust  `json:"trust,omitempty"`
	Marks          []string      `json:"marks,omitempty"`
	Effect         skills.Effect `json:"effect,omitempty"`
	Sensitive      bool          `json:"sensitive,omitempty"`
	StrangerFields []string      `json:"stranger_fields,omitempty"`
	Failed         bool          `json:"failed,omitempty"`
	Gone           bool          `json:"gone,omitempty"`
	// Hidden says that the arguments are left out: they hold secrets.
	Hidden bool `json:"hidden,omitempty"`
}

// premiseWriter writes the premises of one call, and the parts that were not kept before.
type premiseWriter struct {
	m     recordMaker
	call  Call
	parts []PremisePart
	named map[string]bool
}

// describePremises adds to a record what the call was judged on.
func (m recordMaker) describePremises(r *Record, c Call, d Decision) {
	w := premiseWriter{m: m, call: c, named: map[string]bool{}}
	g, t := c.Grant(), c.Trace()
	k := keptPremises{
		V: premisesVersion, Tainted: g.Tainted(), TaintedBefore: g.o.TaintedBefore, BeforeTaint: c.BeforeTaint().List(), Refused: t.refused,
	}
	k.Base = w.keepBase(g, t)
	var end keptBlock
	nameStep := func(i int) *keptName { return &t.steps[i].readingOf().block }
	k.StepsBefore, end = w.keepBlocks(len(t.steps), nameStep, func(b *keptBlock, i int) {
		b.Steps = append(b.Steps, w.keepStep(t.steps[i], false))
	})
	k.Steps = end.Steps
	k.HeardBefore, end = w.keepBlocks(len(t.heard), t.blocks.name, func(b *keptBlock, i int) {
		h := &t.heard[i]
		b.Places = append(b.Places, keptPlace{h.at, w.keepStep(h.step, false), h.by, h.n})
	})
	k.Heard = end.Places
	nameTried := func(i int) *keptName { return &t.tried[i].step.readingOf().block }
	k.TriedBefore, end = w.keepBlocks(len(t.tried), nameTried, func(b *keptBlock, i int) {
		b.Places = append(b.Places, keptPlace{At: t.tried[i].at, Step: w.keepStep(t.tried[i].step, false)})
	})
	k.Tried = end.Places
	if v := d.verdictOf(GateReview); v != nil {
		k.Question = v.Question
	}
	if wellFormed(d) {
		list := ListTouched(c.Touch())
		k.Touches = list[:min(len(list), maxKeptTouched)]
	}
	r.Values, r.Parts = append(r.Values, Value{ValuePremises, encodeJSON(k)}), w.parts
}

// keepBlocks keeps a list: all but its end in parts of blockSize items, each of which names the one before it. It
// returns the name of the last part, and the end. nameOf gives the place where the name of the block is remembered
// whose last item is the i-th; add adds the i-th item to a block.
func (w *premiseWriter) keepBlocks(n int, nameOf func(i int) *keptName, add func(b *keptBlock, i int)) (before string, end keptBlock) {
	full := max(0, n-1) / blockSize * blockSize // the end is never empty
	for from := 0; from < full; from += blockSize {
		known := nameOf(from + blockSize - 1)
		if ref := known.get(w.owner(), false); ref != "" && (w.named[ref] || w.m.kept.has(ref)) {
			w.named[ref], before = true, ref
			continue
		}
		b := keptBlock{Before: before}
		for i := from; i < from+blockSize; i++ {
			add(&b, i)
		}
		before = w.keepPart(encodeJSON(b))
		known.set(w.owner(), false, before)
	}
	for i := full; i < n; i++ {
		add(&end, i)
	}
	return before, end
}

// owner is whose parts are written.
func (w *premiseWriter) owner() partOwner {
	g := w.call.Grant()
	return partOwner{g.User(), g.Conversation()}
}

// partOwner is the user and the conversation of a part. Two users never share one.
type partOwner struct{ user, conversation string }

// keptName remembers the name of a part, which costs a digest to find out. It is safe for concurrent use.
type keptName struct{ known atomic.Pointer[namedPart] }

type namedPart struct {
	of     partOwner
	hidden bool
	ref    string
}

// get returns the name that was remembered, or none.
func (n *keptName) get(of partOwner, hidden bool) string {
	if p := n.known.Load(); p != nil && p.of == of && p.hidden == hidden {
		return p.ref
	}
	return ""
}

func (n *keptName) set(of partOwner, hidden bool, ref string) {
	n.known.Store(&namedPart{of, hidden, ref})
}

// heardBlocks remembers the names of the blocks of what a desk has heard, which only grows.
type heardBlocks struct {
	mu    sync.Mutex
	names map[int]*keptName
}

// name returns the place for the block whose last item is the i-th.
func (h *heardBlocks) name(i int) *keptName {
	if h == nil { // a Trace that was read back
		return &keptName{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.names == nil {
		h.names = map[int]*keptName{}
	}
	if h.names[i] == nil {
		h.names[i] = &keptName{}
	}
	return h.names[i]
}

// keepBase returns the name of what stays the same over many calls.
func (w *premiseWriter) keepBase(g Grant, t Trace) string {
	b := keptBase{
		Grant: g.o.ID, User: g.o.User, Conversation: g.o.Conversation, Turn: g.o.Turn, Agent: g.o.Agent, Remote: g.o.Remote,
		Proposer: g.o.Proposer, Mission: g.o.Mission, MissionBy: g.o.MissionBy, MissionTainted: g.o.MissionTainted, Request: g.o.Request,
		Scope: g.o.Scope.List(), Calls: g.o.Calls, Deadline: g.o.Deadline,
	}
	for _, s := range g.o.Earlier {
		b.Said = append(b.Said, keptSaid(s))
	}
	for _, s := range t.earlier {
		b.Earlier = append(b.Earlier, w.keepStep(s, false))
	}
	for _, s := range t.past {
		b.Past = append(b.Past, w.keepStep(s.Step, s.Gone))
	}
	return w.keepPart(encodeJSON(b))
}

// keepStep returns the name of a step, which is written unless it was before.
func (w *premiseWriter) keepStep(s Step, gone bool) string {
	hidden := len(s.Args) > len("{}") && (s.hide || w.mayHoldSecrets(s.Skill))
	known := &s.readingOf().part
	if gone {
		known = &keptName{} // the same step is kept otherwise where it isn't gone
	}
	if ref := known.get(w.owner(), hidden); ref != "" && (w.named[ref] || w.m.kept.has(ref)) {
		w.named[ref] = true
		return ref
	}
	k := keptStep{
		Skill: s.Skill, Call: s.CallID, Args: s.Args, Result: s.Result, Trust: s.Trust, Marks: s.Marks, Effect: s.Effect,
		Sensitive: s.Sensitive, StrangerFields: s.StrangerFields, Failed: s.Failed, Gone: gone, Hidden: hidden,
	}
	if s.kept != "" {
		k.Result, k.ResultOf = "", s.kept
	}
	if hidden {
		k.Args = ""
	}
	ref := w.keepPart(encodeJSON(k))
	known.set(w.owner(), hidden, ref)
	return ref
}

// mayHoldSecrets reports whether arguments for a skill may hold some. An unknown one may be one of the
// grant's, spelt wrong.
func (w *premiseWriter) mayHoldSecrets(skill string) bool {
	if s, known := w.m.registry.Get(skill); known {
		return s.Secretive()
	}
	return w.m.registry.TakesSecrets(w.call.Grant().Scope())
}

// partDigits is how many hexadecimal digits name a part.
const partDigits = 32

// keepPart returns the name of a part, which is written unless it was before.
func (w *premiseWriter) keepPart(data []byte) string {
	of := w.owner()
	digest := w.m.keyedDigest("premises\x00" + of.user + "\x00" + of.conversation + "\x00" + string(data))
	ref := digest[len("hmac:"):][:partDigits]
	if !w.named[ref] && !w.m.kept.has(ref) {
		w.parts = append(w.parts, PremisePart{ref, data})
	}
	w.named[ref] = true
	return ref
}

// keptParts are the parts that this process has had written of late. An old part is written once more:
// the journal forgets each some days after it was written.
type keptParts struct {
	now func() time.Time

	mu         sync.Mutex
	young, old map[string]struct{}
	turned     time.Time
}

const (
	mostKeptParts = 1 << 14
	keptPartsFor  = 15 * time.Minute
)

func (k *keptParts) has(ref string) bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgetOld()
	_, young := k.young[ref]
	_, old := k.old[ref]
	return young || old
}

// add notes parts that are on disk.
func (k *keptParts) add(list []PremisePart) {
	if k == nil || len(list) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgetOld()
	for _, p := range list {
		k.young[p.Ref] = struct{}{}
	}
}

// forgetOld drops the parts that were written long ago, and the oldest where there are too many.
func (k *keptParts) forgetOld() {
	now := k.now()
	if k.young != nil && len(k.young) < mostKeptParts && now.Sub(k.turned) < keptPartsFor {
		return
	}
	k.young, k.old, k.turned = map[string]struct{}{}, k.young, now
}

// unmarshalKept reads what the journal has. What doesn't read isn't kept.
func unmarshalKept(data []byte, into any) error {
	if json.Unmarshal(data, into) != nil {
		return ErrNotKept
	}
	return nil
}
