package assembly_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/skills"
)

// reopened is the house in a new process, over the same files.
func (p *past) reopened() *past {
	p.t.Helper()
	file := p.Config.File
	require.NoError(p.t, p.Close())
	again := &past{t: p.t}
	cfg, err := config.Load(file, config.Options{KnownSkills: pastSkills})
	require.NoError(p.t, err)
	var natives []assembly.Native
	for _, name := range pastSkills {
		spec := skills.Spec{Name: name, Effect: skills.Create, Output: skills.Trusted, Run: skills.Run{Kind: "native"}, Reaches: skills.Self}
		spec.Parameters = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","x-content":true}}}`)
		natives = append(natives, assembly.Native{Spec: spec, Run: func(context.Context, skills.Order) (skills.Result, error) {
			return skills.Result{Content: "did"}, nil
		}})
	}
	again.Parts, err = assembly.Build(p.t.Context(), cfg, assembly.Options{Natives: natives})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { require.NoError(p.t, again.Close()) })
	return again
}

// What was proposed before a restart counts after it, also where work is paused
// at the moment of the start.
func TestRecountedWhilePaused(t *testing.T) {
	for _, paused := range []bool{false, true} {
		t.Run(fmt.Sprintf("paused %v", paused), func(t *testing.T) {
			p := pastHouse(t, assembly.Options{})
			g := p.grant("g1")
			d := p.Checkpoint.Numbered(g)
			for range 20 {
				_, err := p.invoke(t.Context(), d, "note.plain", "x")
				require.NoError(t, err)
			}
			if paused {
				_, err := p.Pauses.Pause(t.Context(), pause.Target{All: true}, "uid:0")
				require.NoError(t, err)
			}
			p = p.reopened()
			d = p.Checkpoint.Numbered(g)
			_, err := d.Resume(t.Context(), 20, 0)
			require.NoError(t, err)
			if paused {
				_, err = p.invoke(t.Context(), d, "note.plain", "x")
				var no *skills.Refusal
				require.ErrorAs(t, err, &no)
				require.Equal(t, skills.KindPaused, no.Kind)
				_, err = p.Pauses.Lift(t.Context(), pause.Target{All: true}, "uid:0")
				require.NoError(t, err)
			}
			_, err = p.invoke(t.Context(), d, "note.plain", "x")
			var no *skills.Refusal
			require.ErrorAs(t, err, &no, "an agent whose 20 calls are spent made a 21st")
			require.Equal(t, skills.KindBudget, no.Kind)
		})
	}
}

// A call whose bytes are lost is answered from its record and never decided, and
// has the number that it would have had: the next is not taken for it.
func TestRecall(t *testing.T) {
	recall := func(p *past, d *sentinel.Desk, skill string) (skills.Result, error) {
		before, runs := p.recorded(), len(p.runs())
		res, err := d.Recall(p.t.Context(), skill, json.RawMessage(skills.HiddenArgs))
		require.Equal(p.t, before, p.recorded(), "nothing is decided")
		require.Len(p.t, p.runs(), runs, "nothing runs")
		return res, err
	}
	failure := func(t *testing.T, err error) *skills.Failure {
		var f *skills.Failure
		require.ErrorAs(t, err, &f)
		return f
	}
	t.Run("never decided: it is to be proposed again, and its slot is used", func(t *testing.T) {
		p := pastHouse(t, assembly.Options{})
		g := p.grant("g")
		d := p.Checkpoint.Numbered(g)
		_, err := p.invoke(t.Context(), d, "note.plain", "first")
		require.NoError(t, err)
		p.EndTurn(t.Context(), g)
		d = p.Checkpoint.Numbered(g)
		_, err = d.Resume(t.Context(), 0, 3)
		require.NoError(t, err)
		res, err := recall(p, d, "note.plain")
		require.NoError(t, err)
		require.Contains(t, res.Content, "first")
		_, err = recall(p, d, "note.plain")
		f := failure(t, err)
		require.Equal(t, sentinel.FailNotProposed, f.Code)
		require.False(t, f.Unknown)
		require.Contains(t, f.Error(), "propose it again")
		_, err = p.invoke(t.Context(), d, "note.plain", "third")
		require.NoError(t, err)
		require.Equal(t, []string{sentinel.CallID("g", 0), sentinel.CallID("g", 2)}, p.runs())
		for range 17 {
			_, err = p.invoke(t.Context(), d, "note.plain", "more")
			require.NoError(t, err)
		}
		_, err = p.invoke(t.Context(), d, "note.plain", "a 21st")
		require.Error(t, err)
	})
	t.Run("refused: the same refusal", func(t *testing.T) {
		p := pastHouse(t, assembly.Options{})
		_, first := p.invoke(t.Context(), p.Checkpoint.Numbered(p.grant("g")), "note.deny", "x")
		_, second := recall(p, p.resumed(p.grant("g")), "note.deny")
		require.Error(t, first)
		require.Equal(t, first, second)
	})
	t.Run("interrupted: unknown, also where it might be repeated", func(t *testing.T) {
		for _, skill := range []string{"note.plain", "note.again"} {
			p := pastHouse(t, assembly.Options{})
			p.interrupt(p.grant("g"), skill)
			_, err := recall(p, p.resumed(p.grant("g")), skill)
			require.True(t, failure(t, err).Unknown, skill)
		}
	})
	t.Run("another skill's call: its result is not this one's", func(t *testing.T) {
		p := pastHouse(t, assembly.Options{})
		_, err := p.invoke(t.Context(), p.Checkpoint.Numbered(p.grant("g")), "note.plain", "x")
		require.NoError(t, err)
		_, err = recall(p, p.resumed(p.grant("g")), "note.read")
		require.True(t, failure(t, err).Unknown)
	})
	t.Run("what is on record can't be read, or has no numbers: nothing is said", func(t *testing.T) {
		p := pastHouse(t, assembly.Options{})
		_, err := p.Checkpoint.Desk(p.grant("g")).Recall(t.Context(), "note.plain", nil)
		require.ErrorIs(t, err, sentinel.ErrNotRecorded)
		d := p.resumed(p.grant("g"))
		require.NoError(t, p.Store.Close())
		_, err = d.Recall(t.Context(), "note.plain", nil)
		require.ErrorIs(t, err, sentinel.ErrNotRecorded)
	})
}
