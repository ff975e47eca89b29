package sentinel_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// kept reads back what a recorder was given; erased leaves the values out, as
// after a purge or when their retention is over.
type kept struct {
	r      *recorder
	erased bool
}

func (k kept) Past(_ context.Context, id string) (out []sentinel.Record, _ error) {
	for _, r := range k.r.records {
		if r.CallID != id {
			continue
		}
		if k.erased {
			r.Values = nil
		}
		out = append(out, r)
	}
	return out, nil
}

// startedAgain is another process over the same records, and its desk at the
// place of one that had proposed once and was not answered.
func startedAgain(t *testing.T, rec *recorder, erased bool, spec skills.Spec, gates ...sentinel.Gate) (*bench, *sentinel.Desk) {
	b := newBenchFor(t, spec, func(o *sentinel.Options, b *bench) {
		b.rec, o.Recorder, o.History = rec, rec, kept{rec, erased}
	}, gates...)
	d := b.Numbered(grant(t))
	_, err := d.Resume(t.Context(), 0, 1)
	require.NoError(t, err)
	return b, d
}

func pastSpec(e skills.Effect, idempotent bool) skills.Spec {
	return skills.Spec{
		Name: "test.do", Effect: e, Idempotent: idempotent,
		Parameters: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`),
	}
}

// A restart answers a call from the record only where it is the one that was
// recorded. Arguments that were erased fit no other call: what was done stays
// unknown to it, and what was refused says nothing about it.
func TestAnotherCallAfterRestart(t *testing.T) {
	const ann, bob, broken = `{"to":"ann@x.test"}`, `{"to":"bob@x.test"}`, `{"to":1e999}`
	deny := gate{"judge", func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		if c.Args() == ann {
			return outcome(sentinel.Deny, "judge.below_threshold"), nil
		}
		return sentinel.Pass(), nil
	}}
	for name, row := range map[string]struct {
		gates       []sentinel.Gate
		first, then string
		erased      bool
		want        string // a failure's code, a refusal's, or nothing
		runs        int    // in the second process
		records     int    // that it adds
	}{
		"done, and the same":             {first: ann, then: ann},
		"done, the same, erased":         {first: ann, then: ann, erased: true},
		"done, and another":              {first: ann, then: bob, want: sentinel.FailInterrupted},
		"done, another, erased":          {first: ann, then: bob, erased: true, want: sentinel.FailInterrupted},
		"done, and a broken one, erased": {first: ann, then: broken, erased: true, want: sentinel.FailInterrupted},
		"refused, and the same":          {gates: []sentinel.Gate{deny}, first: ann, then: ann, want: "judge.below_threshold"},
		"refused, the same, erased": {gates: []sentinel.Gate{deny}, first: ann, then: ann, erased: true,
			want: "judge.below_threshold"},
		"refused, and another":                  {gates: []sentinel.Gate{deny}, first: ann, then: bob, runs: 1, records: 2},
		"refused, another, erased":              {gates: []sentinel.Gate{deny}, first: ann, then: bob, erased: true, runs: 1, records: 2},
		"no call, and the same":                 {first: broken, then: broken, want: sentinel.CodeNumber},
		"no call, and one":                      {first: broken, then: bob, runs: 1, records: 2},
		"no call, one, erased":                  {first: broken, then: bob, erased: true, runs: 1, records: 2},
		"no call, and none for another reason":  {first: broken, then: `[]`, want: sentinel.CodeNotObject, records: 1},
		"no call, none for another, erased too": {first: broken, then: `[]`, erased: true, want: sentinel.CodeNotObject, records: 1},
	} {
		t.Run(name, func(t *testing.T) {
			rec, spec := &recorder{}, pastSpec(skills.Modify, false)
			first := newBenchFor(t, spec, func(o *sentinel.Options, b *bench) { b.rec, o.Recorder = rec, rec }, row.gates...)
			_, _ = first.Numbered(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(row.first))
			before := len(rec.records)
			b, d := startedAgain(t, rec, row.erased, spec, row.gates...)
			_, err := d.Invoke(t.Context(), "test.do", json.RawMessage(row.then))
			var no *skills.Refusal
			var f *skills.Failure
			switch row.want {
			case "":
				require.NoError(t, err)
			case sentinel.FailInterrupted:
				require.ErrorAs(t, err, &f)
				require.True(t, f.Unknown)
				require.Equal(t, row.want, f.Code)
			default:
				require.ErrorAs(t, err, &no)
				require.Equal(t, row.want, no.Code)
			}
			require.Len(t, b.runs(), row.runs)
			require.Len(t, rec.records, before+row.records)
		})
	}
}

// Calls that differ in nothing but a secret are two: what was done with the one
// says nothing about the other, though what is kept of both is the same.
func TestAnotherSecretAfterRestart(t *testing.T) {
	rec := &recorder{}
	spec := skills.Spec{
		Name: "test.do", Effect: skills.Modify,
		Parameters: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"},"key":{"type":"string","x-secret":true}}}`),
	}
	first := newBenchFor(t, spec, func(o *sentinel.Options, b *bench) { b.rec, o.Recorder = rec, rec })
	_, err := first.Numbered(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"a","key":"one"}`))
	require.NoError(t, err)
	for key, want := range map[string]bool{"one": true, "two": false} {
		b, d := startedAgain(t, rec, false, spec)
		_, err := d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"a","key":"`+key+`"}`))
		require.Equal(t, want, err == nil, key)
		require.Empty(t, b.runs())
	}
	changed := spec
	changed.Description = "Changed since."
	_, d := startedAgain(t, rec, false, changed)
	_, err = d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"a","key":"one"}`))
	var f *skills.Failure
	require.ErrorAs(t, err, &f, "nobody can tell which of the two it was")
	require.True(t, f.Unknown)
}

// A skill that was changed since gives the same call another digest: its
// arguments tell that it is the one that was done, where they are kept.
func TestChangedSkillAfterRestart(t *testing.T) {
	for name, row := range map[string]struct {
		args   string
		erased bool
		same   bool
	}{
		"the same": {`{"to":"a"}`, false, true}, "another": {`{"to":"b"}`, false, false}, "erased": {`{"to":"a"}`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			rec, spec := &recorder{}, pastSpec(skills.Modify, false)
			first := newBenchFor(t, spec, func(o *sentinel.Options, b *bench) { b.rec, o.Recorder = rec, rec })
			_, err := first.Numbered(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"a"}`))
			require.NoError(t, err)
			spec.Description = "Changed since."
			b, d := startedAgain(t, rec, row.erased, spec)
			_, err = d.Invoke(t.Context(), "test.do", json.RawMessage(row.args))
			require.Equal(t, row.same, err == nil)
			require.Empty(t, b.runs())
		})
	}
}

// A call that was under way when the process was killed runs again where it
// reads, or its skill says that a repeat does no harm, and under the same id.
// Any other is unknown.
func TestKilledCallRunsAgain(t *testing.T) {
	for _, row := range []struct {
		effect     skills.Effect
		idempotent bool
		again      bool
	}{
		{skills.Read, false, true},
		{skills.Read, true, true},
		{skills.Create, false, false},
		{skills.Create, true, true},
		{skills.Modify, false, false},
		{skills.Irreversible, false, false},
		{skills.Irreversible, true, true},
		{skills.CostsMoney, false, false},
	} {
		t.Run(string(row.effect), func(t *testing.T) {
			rec, spec := &recorder{}, pastSpec(row.effect, row.idempotent)
			require.Equal(t, row.again, spec.Repeatable())
			first := newBenchFor(t, spec, func(o *sentinel.Options, b *bench) { b.rec, o.Recorder = rec, rec })
			_, err := first.Numbered(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"a"}`))
			require.NoError(t, err)
			rec.records = rec.records[:1] // killed before the outcome was written
			b, d := startedAgain(t, rec, false, spec)
			_, err = d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"a"}`))
			if row.again {
				require.NoError(t, err)
				require.Len(t, b.runs(), 1)
				require.Equal(t, rec.records[0].CallID, rec.records[len(rec.records)-1].CallID)
				return
			}
			var f *skills.Failure
			require.ErrorAs(t, err, &f)
			require.True(t, f.Unknown)
			require.Empty(t, b.runs())
		})
	}
}

// An outcome belongs to the decision that it names. One of another decision
// under the same call id, of a run before it was repeated, says nothing.
func TestOutcomeOfAnotherDecision(t *testing.T) {
	rec, spec := &recorder{}, pastSpec(skills.Modify, false)
	first := newBenchFor(t, spec, func(o *sentinel.Options, b *bench) { b.rec, o.Recorder = rec, rec })
	_, err := first.Numbered(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"a"}`))
	require.NoError(t, err)
	require.Equal(t, []string{sentinel.RecordDecision, sentinel.RecordOutcome}, rec.kinds())
	rec.records[1].DecisionID = "another"
	b, d := startedAgain(t, rec, false, spec)
	_, err = d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"a"}`))
	var f *skills.Failure
	require.ErrorAs(t, err, &f, "a result of another decision was returned")
	require.True(t, f.Unknown)
	require.Empty(t, b.runs())
}
