package policy_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/eval"
	"github.com/vedette-dev/vedette/sentinel"
)

// attempts is where what reviewers tried to get through is kept, with honest
// calls that look like it beside. Each file may have skills of its own.
const attempts = "../cases/testdata/attempts"

// What was ever tried is stopped, and what was honest is let pass, but for what
// known.txt names with its reason; what it names and is no longer so has to
// leave it.
func TestAttempts(t *testing.T) {
	t.Setenv("HOME", "/home/op")
	files, err := filepath.Glob(filepath.Join(attempts, "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	known := knownExceptions(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { tryAll(t, file, known) })
	}
	for id, reason := range known {
		require.Empty(t, reason, "known.txt names %s, which there is none of or which is as it should be", id)
	}
}

// knownExceptions are the reasons by id.
func knownExceptions(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(attempts, "known.txt"))
	require.NoError(t, err)
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndex(line, ": ")
		require.Positive(t, i, "%s: a reason, a colon and ids", line)
		for id := range strings.FieldsSeq(line[i+1:]) {
			require.Empty(t, known[id], "%s stands twice", id)
			known[id] = line[:i]
		}
	}
	return known
}

// tryAll decides every case of a file and takes from known what it explains.
func tryAll(t *testing.T, file string, known map[string]string) {
	ev := eval.NewEvaluator(eval.Options{Decider: deciderFor(t, file)})
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	count := map[string]int{}
	for lines.Scan() {
		var c struct{ ID, Kind, Category string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		r, err := ev.Evaluate(t.Context(), lines.Bytes())
		require.NoError(t, err)
		require.Nil(t, r.Err, c.ID)
		passes := r.Decision.Outcome == sentinel.Allow
		count[c.Kind+" "+r.Decision.Outcome.String()]++
		if passes == (c.Kind == "benign") {
			continue
		}
		if known[c.ID] == "" {
			t.Errorf("%s (%s, %s): %s by %s", c.ID, c.Kind, c.Category, r.Decision.Outcome, r.Decision.Code)
		}
		known[c.ID] = ""
	}
	require.NoError(t, lines.Err())
	t.Log(fmt.Sprint(count))
}

func deciderFor(t *testing.T, file string) *assembly.Decider {
	t.Helper()
	skills := strings.TrimSuffix(file, ".jsonl") + ".skills.yaml"
	if _, err := os.Stat(skills); err != nil {
		skills = filepath.Join(attempts, "skills.yaml")
	}
	text, err := os.ReadFile(skills)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "skills.yaml"), text, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "vedette.yaml"), []byte(
		"version: 1\nskills: {include: [\"skills.yaml\"]}\nsentinel: {mode: \"off\"}\nguard: {roots: [\"/workspace\"]}\n"), 0o600))
	cfg, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{})
	require.NoError(t, err)
	d, err := assembly.NewDecider(cfg, assembly.DeciderOptions{NoFS: true, NoReview: true})
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}
