package sentinel

import (
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/vedette-dev/vedette/skills"
)

var (
	// ErrNotKept says that the journal doesn't hold all of what a call was judged on: its time is over, it
	// was erased, or an earlier version wrote it.
	ErrNotKept = errors.New("not all of what the call was judged on is kept")
	// ErrSecret says that a part of what a call was judged on was a secret, which is kept nowhere.
	ErrSecret = errors.New("a secret was part of what the call was judged on, and it is kept nowhere")
)

// PremisesSource finds what the journal has of premises. An error that wraps ErrNotKept says that it
// is not there.
type PremisesSource interface {
	// Part returns the PremisePart of that name.
	Part(ref string) ([]byte, error)
	// Result returns what the call of that id brought.
	Result(call string) (string, error)
}

// Premises is what a call was judged on, as far as a proposal has it.
type Premises struct {
	Grant       Grant
	Trace       Trace
	BeforeTaint skills.Scope
	// Question names what the review's models were asked; empty where none were.
	Question string
}

// Recaller reads premises back. It keeps what their calls share, so it is for calls of one
// conversation after the other. It isn't safe for concurrent use.
type Recaller struct {
	from   PremisesSource
	steps  map[string]recalledStep
	grants map[string]recalledBase
	blocks map[string]keptBlock // with all that came before them
	traces map[string]recalledTrace
}

// recalledTrace is the longest list of steps that was read of a base. A later call's list mostly goes on from it.
type recalledTrace struct {
	refs   []string
	steps  []Step
	digest [sha256.Size]byte
}

type recalledStep struct {
	step Step
	gone bool
}

type recalledBase struct {
	grant   Grant
	earlier []Step
	past    []PastResult
}

// mostRecalled bounds the steps, the grants and the lists that a Recaller keeps.
const mostRecalled = 2048

// mostTraces bounds the whole lists of steps that it keeps.
const mostTraces = 64

// NewRecaller returns a Recaller.
func NewRecaller(from PremisesSource) *Recaller {
	return &Recaller{from: from, steps: map[string]recalledStep{}, grants: map[string]recalledBase{}, blocks: map[string]keptBlock{},
		traces: map[string]recalledTrace{}}
}

// Recall reads the value ValuePremises of a call. The error wraps ErrNotKept or ErrSecret where not all
// of it is there, or is the source's.
func (r *Recaller) Recall(data []byte) (s Premises, err error) {
	var k keptPremises
	if err := unmarshalKept(data, &k); err != nil || k.V < 1 || k.V > premisesVersion {
		return s, ErrNotKept
	}
	base, err := r.recallBase(k.Base)
	if err != nil {
		return s, err
	}
	s.Grant, s.Question = base.grant, k.Question
	switch {
	case k.Tainted && k.TaintedBefore:
		s.Grant = s.Grant.TaintBefore()
	case k.Tainted:
		s.Grant = s.Grant.Taint()
	}
	if s.BeforeTaint, err = skills.NewScope(k.BeforeTaint...); err != nil {
		return s, ErrNotKept
	}
	s.Trace = Trace{refused: k.Refused, earlier: base.earlier, past: base.past, pieces: &pieces{}}
	return s, r.recallTrace(k, &s.Trace)
}

// recallTrace reads the steps of a trace.
func (r *Recaller) recallTrace(k keptPremises, t *Trace) error {
	var err error
	if k.Steps, k.Heard, k.Tried, err = r.recallLists(k); err != nil {
		return err
	}
	whole, err := r.recallSteps(k.Base, k.Steps)
	if err != nil {
		return err
	}
	t.digest, t.steps = whole.digest, slices.Clip(whole.steps)
	for _, p := range k.Heard {
		s, err := r.recallStep(p.Step)
		if err != nil {
			return err
		}
		t.heard = append(t.heard, heard{entry{p.By, p.N, s.step}, p.At})
	}
	for _, p := range k.Tried {
		s, err := r.recallStep(p.Step)
		if err != nil {
			return err
		}
		t.tried = append(t.tried, tried{s.step, p.At})
	}
	return nil
}

// recallSteps reads the steps of a list.
func (r *Recaller) recallSteps(base string, refs []string) (recalledTrace, error) {
	whole := r.traces[base]
	if n := len(whole.refs); n > len(refs) || !slices.Equal(whole.refs, refs[:n]) {
		whole = recalledTrace{}
	}
	for _, ref := range refs[len(whole.refs):] {
		s, err := r.recallStep(ref)
		if err != nil {
			return whole, err
		}
		// Traces that were handed out are clipped, so what is appended here is in none of them.
		whole.digest, whole.steps = s.step.chainDigest(whole.digest), append(whole.steps, s.step)
	}
	whole.refs = refs
	if len(r.traces) >= mostTraces {
		clear(r.traces)
	}
	r.traces[base] = whole
	return whole, nil
}

// recallLists returns the whole lists of premises.
func (r *Recaller) recallLists(k keptPremises) (steps []string, heard, tried []keptPlace, err error) {
	var lists [3]keptBlock
	for i, ref := range []string{k.StepsBefore, k.HeardBefore, k.TriedBefore} {
		if lists[i], err = r.recallBlocks(ref); err != nil {
			return nil, nil, nil, err
		}
	}
	return slices.Concat(lists[0].Steps, k.Steps), slices.Concat(lists[1].Places, k.Heard), slices.Concat(lists[2].Places, k.Tried), nil
}

// mostBlocks bounds the parts of one list: the database may hold anything.
const mostBlocks = 4096

// recallBlocks returns the items of a block, behind those of all blocks before it.
func (r *Recaller) recallBlocks(ref string) (keptBlock, error) {
	var chain []keptBlock // the last first
	var refs []string
	whole := keptBlock{}
	for ref != "" {
		if known, ok := r.blocks[ref]; ok {
			whole = known
			break
		}
		data, err := r.from.Part(ref)
		if err != nil {
			return whole, err
		}
		var b keptBlock
		if err := unmarshalKept(data, &b); err != nil || len(chain) == mostBlocks {
			return whole, ErrNotKept
		}
		chain, refs, ref = append(chain, b), append(refs, ref), b.Before
	}
	for i, b := range slices.Backward(chain) {
		whole = keptBlock{Steps: slices.Concat(whole.Steps, b.Steps), Places: slices.Concat(whole.Places, b.Places)}
		if i == 0 { // those before it are looked for by none
			if len(r.blocks) >= mostRecalled {
				clear(r.blocks)
			}
			r.blocks[refs[0]] = whole
		}
	}
	return whole, nil
}

// recallBase reads what calls of an agent share.
func (r *Recaller) recallBase(ref string) (b recalledBase, err error) {
	if b, ok := r.grants[ref]; ok {
		return b, nil
	}
	data, err := r.from.Part(ref)
	if err != nil {
		return b, err
	}
	var k keptBase
	if err := unmarshalKept(data, &k); err != nil {
		return b, err
	}
	if b.grant, err = k.newGrant(); err != nil {
		return b, err
	}
	for _, ref := range k.Earlier {
		s, err := r.recallStep(ref)
		if err != nil {
			return b, err
		}
		b.earlier = append(b.earlier, s.step)
	}
	for _, ref := range k.Past {
		s, err := r.recallStep(ref)
		if err != nil {
			return b, err
		}
		b.past = append(b.past, PastResult{s.step, s.gone})
	}
	if len(r.grants) >= mostRecalled {
		clear(r.grants)
	}
	r.grants[ref] = b
	return b, nil
}

// newGrant makes the grant again, without its taint.
func (k keptBase) newGrant() (Grant, error) {
	scope, err := skills.NewScope(k.Scope...)
	if err != nil {
		return Grant{}, ErrNotKept
	}
	o := GrantOptions{
		ID: k.Grant, User: k.User, Conversation: k.Conversation, Turn: k.Turn, Agent: k.Agent, Remote: k.Remote, Proposer: k.Proposer,
		Mission: k.Mission, MissionBy: k.MissionBy, MissionTainted: k.MissionTainted, Request: k.Request, Scope: scope, Calls: k.Calls,
		Deadline: k.Deadline,
	}
	for _, s := range k.Said {
		o.Earlier = append(o.Earlier, EarlierTurn(s))
	}
	g, err := NewGrant(o)
	if err != nil {
		return g, ErrNotKept
	}
	return g, nil
}

// recallStep reads a step.
func (r *Recaller) recallStep(ref string) (s recalledStep, err error) {
	if s, ok := r.steps[ref]; ok {
		return s, nil
	}
	data, err := r.from.Part(ref)
	if err != nil {
		return s, err
	}
	var k keptStep
	if err := unmarshalKept(data, &k); err != nil {
		return s, err
	}
	if k.Hidden {
		return s, ErrSecret
	}
	if k.ResultOf != "" {
		if k.Result, err = r.from.Result(k.ResultOf); err != nil {
			return s, err
		}
	}
	s = recalledStep{Step{
		Skill: k.Skill, CallID: k.Call, Args: k.Args, Result: k.Result, Trust: k.Trust, Marks: slices.Clip(k.Marks), Effect: k.Effect,
		Sensitive: k.Sensitive, StrangerFields: k.StrangerFields, Failed: k.Failed, read: &readings{},
	}.withMarks(), k.Gone}
	if len(r.steps) >= mostRecalled {
		clear(r.steps)
	}
	r.steps[ref] = s
	return s, nil
}

// KeyedDigest returns the digest of a call as records have it: see Call.Digest. key is
// Options.DigestKey.
func KeyedDigest(key [32]byte, digest string) string {
	return recordMaker{key: key}.keyedDigest(digest)
}

// RecallRequest reads the user's own words of a call from its value ValuePremises. part returns the
// PremisePart of a name. The error wraps ErrNotKept, or is part's.
func RecallRequest(data []byte, part func(ref string) ([]byte, error)) (string, error) {
	var k keptPremises
	if err := unmarshalKept(data, &k); err != nil {
		return "", err
	}
	b, err := k.readBase(part)
	if err != nil || b.Request == nil {
		return "", err
	}
	return *b.Request, nil
}

// readBase reads what the call shares with others of its agent.
func (k keptPremises) readBase(part func(ref string) ([]byte, error)) (b keptBase, err error) {
	raw, err := part(k.Base)
	if err != nil {
		return b, err
	}
	return b, unmarshalKept(raw, &b)
}

// ListPremiseParts returns the names of the parts that a value ValuePremises names itself.
func ListPremiseParts(data []byte) []string {
	var k keptPremises
	if unmarshalKept(data, &k) != nil {
		return nil
	}
	out := append([]string{k.Base}, k.Steps...)
	for _, ref := range []string{k.StepsBefore, k.HeardBefore, k.TriedBefore} {
		if ref != "" {
			out = append(out, ref)
		}
	}
	for _, list := range [][]keptPlace{k.Heard, k.Tried} {
		for _, p := range list {
			out = append(out, p.Step)
		}
	}
	return out
}

// ListPartNeeds returns the names of the parts that a PremisePart names, and the call whose result it
// needs; empty for none.
func ListPartNeeds(data []byte) (parts []string, resultOf string) {
	var k struct {
		Earlier, Past []string
		ResultOf      string `json:"result_of"`
		keptBlock
	}
	if unmarshalKept(data, &k) != nil {
		return nil, ""
	}
	parts = slices.Concat(k.Earlier, k.Past, k.Steps)
	for _, p := range k.Places {
		parts = append(parts, p.Step)
	}
	if k.Before != "" {
		parts = append(parts, k.Before)
	}
	return parts, k.ResultOf
}
