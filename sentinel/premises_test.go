package sentinel

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// partsKept are parts of premises as a journal has them.
type partsKept map[string][]byte

func (p partsKept) Part(ref string) ([]byte, error) {
	if data, ok := p[ref]; ok {
		return data, nil
	}
	return nil, ErrNotKept
}

func (p partsKept) Result(call string) (string, error) { return "result of " + call, nil }

// deskOf is a trace that grows as a desk's does, and the records of its calls.
type deskOf struct {
	t     *testing.T
	m     recordMaker
	grant Grant
	trace Trace
	parts partsKept
}

func newDeskOf(t *testing.T, user string, parts partsKept, kept *keptParts) *deskOf {
	t.Helper()
	scope, err := skills.NewScope("s.one")
	require.NoError(t, err)
	g, err := NewGrant(GrantOptions{ID: "g", User: user, Conversation: "c", Agent: "a", Scope: scope})
	require.NoError(t, err)
	registry, err := skills.NewRegistry()
	require.NoError(t, err)
	return &deskOf{t: t, m: recordMaker{registry: registry, kept: kept}, grant: g, parts: parts}
}

// decide records a call with the trace as it is, and returns its premises, how many parts went along and the bytes of all.
func (d *deskOf) decide() (data []byte, parts, size int) {
	d.t.Helper()
	c := Call{held: &callParts{grant: d.grant, trace: d.trace}}
	var r Record
	d.m.describePremises(&r, c, Decision{})
	for _, p := range r.Parts {
		d.parts[p.Ref] = p.Data
		size += len(p.Data)
	}
	d.m.kept.add(r.Parts)
	return r.Values[0].Data, len(r.Parts), size + len(r.Values[0].Data)
}

// step adds what a call returned.
func (d *deskOf) step(n int) {
	call := fmt.Sprint("call-", n)
	d.trace = d.trace.withStep(Step{
		Skill: "s.one", CallID: call, Args: `{"n":1}`, Result: "result of " + call, Trust: skills.Trusted, kept: call,
	})
}

// What a decision writes stays the same however long its turn is, and what is read back is what was there.
func TestPremisesOfALongTurn(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	parts := partsKept{}
	d := newDeskOf(t, "ann", parts, &keptParts{now: func() time.Time { return now }})
	other := newDeskOf(t, "ann", parts, d.m.kept)
	recaller := NewRecaller(parts)
	largest := 0
	for n := range 1000 {
		data, written, size := d.decide()
		require.LessOrEqual(t, written, 4, "a step, one that was heard, and a block of each at most")
		largest = max(largest, size)
		if n%97 == 0 || n > 990 {
			p, err := recaller.Recall(data)
			require.NoError(t, err)
			require.Equal(t, n, p.Trace.Len())
			require.Equal(t, d.trace.digest, p.Trace.digest)
			require.Len(t, p.Trace.heard, len(d.trace.heard))
			for i, h := range d.trace.heard {
				got := p.Trace.heard[i]
				require.Equal(t, []any{h.at, h.by, h.n, h.step.CallID}, []any{got.at, got.by, got.n, got.step.CallID})
			}
		}
		d.step(n)
		if n%10 == 0 {
			other.step(100_000 + n)
			d.trace = d.trace.withHeard("a", "other", other.trace)
		}
	}
	require.Less(t, largest, 8<<10, "in bytes: two blocks, and the ends of the lists")
}

// Whatever order calls are read back in, each has the steps that it had.
func TestPremisesInAnyOrder(t *testing.T) {
	parts := partsKept{}
	d := newDeskOf(t, "ann", parts, &keptParts{now: time.Now})
	branch := newDeskOf(t, "ann", parts, d.m.kept) // of the same grant, with other steps
	type kept struct {
		data  []byte
		trace Trace
	}
	var list []kept
	for n := range 20 {
		for _, of := range []*deskOf{d, branch} {
			data, _, _ := of.decide()
			list = append(list, kept{data, of.trace})
		}
		d.step(n)
		branch.step(1000 + n)
	}
	recaller := NewRecaller(parts)
	read := make([]Trace, len(list))
	for _, i := range append(rand.New(rand.NewPCG(1, 2)).Perm(len(list)), rand.New(rand.NewPCG(3, 4)).Perm(len(list))...) {
		p, err := recaller.Recall(list[i].data)
		require.NoError(t, err)
		read[i] = p.Trace
	}
	for i, k := range list { // also once all were read: no trace writes into another
		require.Equal(t, k.trace.digest, read[i].digest)
		require.Len(t, read[i].steps, len(k.trace.steps))
		for n, s := range k.trace.steps {
			require.Equal(t, s.CallID, read[i].steps[n].CallID)
		}
	}
}

// Blocks of another desk, of another user and of other steps have names of their own.
func TestPremisesAreNotMixed(t *testing.T) {
	kept := &keptParts{now: time.Now}
	parts := partsKept{}
	ann, bob := newDeskOf(t, "ann", parts, kept), newDeskOf(t, "bob", parts, kept)
	for n := range 130 {
		ann.step(n)
	}
	bob.trace = ann.trace // the very same steps
	one, _, _ := ann.decide()
	two, written, _ := bob.decide()
	require.Greater(t, written, 130, "bob's parts are his own")
	refs := func(data []byte) map[string]bool {
		out := map[string]bool{}
		for todo := ListPremiseParts(data); len(todo) > 0; todo = todo[1:] {
			out[todo[0]] = true
			more, _ := ListPartNeeds(parts[todo[0]])
			todo = append(todo, more...)
		}
		return out
	}
	a, b := refs(one), refs(two)
	require.Len(t, a, 130+1+2, "steps, base and blocks are all found by what they name")
	for ref := range a {
		require.False(t, b[ref])
	}
}

// What was written long ago is written once more, with all that it names.
func TestPremisesAreWrittenAgain(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	kept := &keptParts{now: func() time.Time { return now }}
	d := newDeskOf(t, "ann", partsKept{}, kept)
	for n := range 130 {
		d.step(n)
	}
	_, written, _ := d.decide()
	require.Equal(t, 133, written)
	_, written, _ = d.decide()
	require.Zero(t, written)
	now = now.Add(3 * keptPartsFor)
	kept.has("")
	now = now.Add(keptPartsFor)
	data, written, _ := d.decide()
	require.Equal(t, 133, written)
	p, err := NewRecaller(d.parts).Recall(data)
	require.NoError(t, err)
	require.Equal(t, 130, p.Trace.Len())
}

// A chain of blocks that never ends, or is missing, isn't kept.
func TestPremisesOfAForgedChain(t *testing.T) {
	parts := partsKept{"base": []byte(`{"grant":"g","conversation":"c","agent":"a"}`), "loop": []byte(`{"before":"loop"}`), "bad": []byte(`{`)}
	for _, ref := range []string{"loop", "bad", "none"} {
		_, err := NewRecaller(parts).Recall([]byte(`{"v":2,"base":"base","steps_before":"` + ref + `"}`))
		require.ErrorIs(t, err, ErrNotKept)
	}
	_, err := NewRecaller(parts).Recall([]byte(`{"v":3,"base":"base"}`))
	require.ErrorIs(t, err, ErrNotKept)
	require.Empty(t, strings.Join(ListPremiseParts([]byte(`{`)), ""))
}
