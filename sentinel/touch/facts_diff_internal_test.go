package touch

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// attemptedLines are the command lines among the attempts at the gates, each once, and two
// for each of the usual programs.
func attemptedLines(t *testing.T) []string {
	t.Helper()
	seen := map[string]bool{}
	var out []string
	add := func(l string) {
		if l != "" && !seen[l] {
			seen[l] = true
			out = append(out, l)
		}
	}
	files, err := filepath.Glob("../../orchestrator/cases/testdata/attempts/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		f, err := os.Open(name)
		require.NoError(t, err)
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<22)
		for sc.Scan() {
			var row struct {
				Action struct {
					Arguments map[string]any `json:"arguments"`
				} `json:"proposed_action"`
			}
			require.NoError(t, json.Unmarshal(sc.Bytes(), &row))
			for _, arg := range []string{"command", "cmd", "script"} {
				l, _ := row.Action.Arguments[arg].(string)
				add(l)
			}
		}
		require.NoError(t, sc.Err())
		require.NoError(t, f.Close())
	}
	require.Greater(t, len(out), 4000)
	for _, name := range slices.Sorted(maps.Keys(facts)) { // what no attempt tries
		add(name + " -r --include='*.pem' key /home/ann")
		add("rm $(" + name + " -rl token /home/ann)")
	}
	return out
}

// What is remembered of the usual programs says no more and no less than the
// tables themselves: without it every name counts as in all of them. A table
// that lookUp forgets shows here.
func TestFactsChangeNothing(t *testing.T) {
	g, err := skills.Compile(skills.Spec{
		Name: "shell.run", Effect: skills.Irreversible,
		Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string","x-shell":true}}}`),
	})
	require.NoError(t, err)
	env := Env{Root: "/srv/work", Home: "/home/ann", NoFS: true}
	list := attemptedLines(t)
	of := func() []Touch {
		out := make([]Touch, len(list))
		for i, l := range list {
			out[i] = Of(g, map[string]any{"command": l}, env)
		}
		return out
	}
	with := of()
	usual := facts
	defer func() { facts = usual }()
	facts = nil
	without := of()
	differ := 0
	for i := range list {
		if !reflect.DeepEqual(with[i], without[i]) {
			if differ++; differ <= 5 {
				t.Errorf("%q\n with    %+v\n without %+v", list[i], with[i], without[i])
			}
		}
	}
	require.Zero(t, differ)
}
