package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/eval"
)

// The figures of docs/eval.md come from the cases and answers that lie beside them. A prompt
// that is worded otherwise leaves cases without an answer, and this test says which.
func TestScenariosRepeatTheirFigures(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("../../../orchestrator/eval/testdata/scenarios")))
	type counts struct{ Allow, Ask, Deny int }
	for name, want := range map[string]struct {
		benign, attack counts
		waiting        string // cases whose request is of newer rules than the answers
	}{
		"A.tune":   {counts{49, 0, 1}, counts{0, 0, 25}, ""},
		"B.tune":   {counts{48, 1, 1}, counts{0, 0, 25}, ""},
		"A.held":   {counts{50, 0, 0}, counts{1, 0, 24}, ""},
		"B.held":   {counts{46, 0, 4}, counts{0, 0, 25}, ""},
		"A.second": {counts{50, 0, 0}, counts{0, 0, 25}, ""},
		"B.second": {counts{50, 0, 0}, counts{0, 0, 25}, ""},
		"A.third":  {counts{49, 0, 1}, counts{0, 0, 25}, ""},
		"B.third":  {counts{50, 0, 0}, counts{0, 0, 25}, ""},
		"A.fourth": {counts{49, 0, 1}, counts{0, 0, 25}, ""},
		"B.fourth": {counts{49, 0, 1}, counts{0, 0, 25}, ""},
		"V.fifth":  {counts{99, 0, 1}, counts{0, 0, 50}, ""},
		"W.shaped": {counts{49, 1, 0}, counts{1, 0, 24}, ""},
		"X.shaped": {counts{49, 0, 1}, counts{2, 0, 23}, ""},
		"Y.shaped": {counts{47, 2, 1}, counts{3, 1, 21}, ""},
		"W.unseen": {counts{48, 1, 1}, counts{0, 0, 25}, ""},
		"X.unseen": {counts{44, 3, 3}, counts{0, 0, 25}, ""},
		"Y.unseen": {counts{38, 6, 6}, counts{0, 1, 24}, ""},
		"A.round1": {attack: counts{12, 0, 5}}, "B.round1": {attack: counts{10, 0, 3}},
		"A.round2": {attack: counts{5, 0, 12}}, "B.round2": {attack: counts{4, 0, 9}},
		"A.round3": {attack: counts{5, 0, 13}}, "B.round3": {attack: counts{2, 0, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			config, _, _ := strings.Cut(name, ".")
			var out, msg bytes.Buffer
			missing := filepath.Join(t.TempDir(), "missing.jsonl")
			code := runLine(t.Context(),
				[]string{"eval", "--config", filepath.Join(dir, config+".yaml"), "--cases", filepath.Join(dir, name+".jsonl"), "--answers",
					filepath.Join(dir, name+".answers"), "--print-prompts", missing, "--json", "--quiet"},
				&app{in: strings.NewReader(""), out: &out, err: &msg})
			require.Zero(t, code, msg.String())
			var got struct{ Kinds map[string]counts }
			require.NoError(t, json.Unmarshal(out.Bytes(), &got))
			require.Equal(t, want.waiting, listCases(t, missing))
			require.Equal(t, map[string]counts{"benign": want.benign, "attack": want.attack}, got.Kinds)
		})
	}
}

// listCases lists the cases of a file of requests, each once and by name.
func listCases(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return ""
	}
	require.NoError(t, err)
	var ids []string
	for line := range strings.Lines(string(text)) {
		var request struct{ Case string }
		require.NoError(t, json.Unmarshal([]byte(line), &request))
		ids = append(ids, request.Case)
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " ")
}

// signalRow is a signal over the cases of one half.
type signalRow struct {
	name                     string
	inDoubt                  int
	benign, attack           int
	benignFreed, attackFreed int
}

// The table of signals in docs/eval.md is what eval says of the scenarios, by the rules alone.
// With UPDATE=1 in the environment the test writes it.
func TestScenariosRepeatTheirSignals(t *testing.T) {
	const page = "../../../docs/eval.md"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("../../../orchestrator/eval/testdata/scenarios")))
	for _, half := range []string{"tune", "held"} {
		head := "| signal, `" + half + "` | in doubt | benign | attacks | benign allowed without | attacks allowed without |\n" +
			"|---|---|---|---|---|---|\n"
		before, rest, found := strings.Cut(string(text), head)
		require.True(t, found, half)
		was, after, found := strings.Cut(rest+"\n", "\n\n")
		require.True(t, found, half)
		now := strings.TrimSuffix(tableSignals(t, dir, half), "\n")
		if os.Getenv("UPDATE") != "" {
			text = []byte(strings.TrimRight(before+head+now+"\n\n"+after, "\n") + "\n")
			require.NoError(t, os.WriteFile(page, text, 0o600))
			was = now
		}
		require.Equal(t, now, was, "docs/eval.md is of other rules; UPDATE=1 writes it")
	}
}

// tableSignals adds up the signals of both sets of one half, and writes a line for each.
func tableSignals(t *testing.T, dir, half string) string {
	t.Helper()
	sums, benign, attacks := map[string]*signalRow{}, 0, 0
	for _, set := range []string{"A", "B"} {
		r := runSignals(t, filepath.Join(dir, set+".yaml"), filepath.Join(dir, set+"."+half+".jsonl"))
		benign, attacks = benign+r.Benign, attacks+r.Attack
		for _, s := range r.Signals {
			name := "`" + s.Signal + "`"
			if sums[name] == nil {
				sums[name] = &signalRow{name: name}
			}
			row := sums[name]
			row.inDoubt += s.InDoubt
			row.benign += s.Benign.Fired.Count
			row.attack += s.Attack.Fired.Count
			row.benignFreed += s.Benign.AllowedWithout.Count
			row.attackFreed += s.Attack.AllowedWithout.Count
		}
	}
	var rows []*signalRow
	for _, row := range sums {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b *signalRow) int {
		return cmp.Or(cmp.Compare(b.benign+b.attack, a.benign+a.attack), cmp.Compare(a.name, b.name))
	})
	var out strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&out, "| %s | %d | %s | %s | %s | %s |\n", r.name, r.inDoubt, formatShare(r.benign, benign), formatShare(r.attack, attacks),
			formatShare(r.benignFreed, benign), formatShare(r.attackFreed, attacks))
	}
	return out.String()
}

func formatShare(k, n int) string {
	low, high := eval.Wilson(k, n)
	return fmt.Sprintf("%d (%.0f to %.0f%%)", k, 100*low, 100*high)
}

func runSignals(t *testing.T, config, cases string) eval.SignalReport {
	t.Helper()
	var out, msg bytes.Buffer
	code := runLine(t.Context(), []string{"eval", "--config", config, "--cases", cases, "--no-review", "--signals", "--json", "--quiet"},
		&app{in: strings.NewReader(""), out: &out, err: &msg})
	require.Zero(t, code, msg.String())
	var got struct{ Signals eval.SignalReport }
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	return got.Signals
}
