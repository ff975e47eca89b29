package intake_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
)

// Mistakes in what acts are told with their place, before anything runs.
func TestActionMistakes(t *testing.T) {
	const head = "version: 1\nsentinel: {mode: \"off\"}\nskills: {include: [skills.yaml]}\n"
	const notes = "name: notes.add\neffect: create\nreaches: self\ndescription: Add.\n" +
		"parameters: {type: object, properties: {text: {type: string}}}\n" +
		"run: {template: noted}\n"
	for name, row := range map[string]struct{ intent, want string }{
		"no such skill": {"{words: note, skill: notes.ad}",
			`vedette.yaml:6:32: intent.actions.note.skill: unknown skill "notes.ad"; did you mean "notes.add"?`},
		"no such argument": {"{words: note, skill: notes.add, arguments: {txt: topic}}",
			`6:60: intent.actions.note.arguments.txt: the skill notes.add declares no such argument`},
		"no such field": {"{words: note, skill: notes.add, arguments: {text: topik}}",
			`6:61: intent.actions.note.arguments.text: an intent has no field "topik"; did you mean "topic"?`},
		"no such kind":     {"{words: note, skill: notes.add, arguments: {text: entity.region}}", `there are no entities of the kind "region"`},
		"no skill":         {"{words: note, arguments: {text: topic}}", "intent.actions.note.arguments are for a skill"},
		"its own question": {"{words: note, skill: agent.elevate}", `unknown skill "agent.elevate"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "vedette.yaml")
			require.NoError(t, os.WriteFile(filepath.Join(dir, "skills.yaml"), []byte(notes), 0o600))
			require.NoError(t, os.WriteFile(file, []byte(head+"intent:\n  actions:\n    note: "+row.intent+"\n  policy: {actions: [note]}\n"),
				0o600))
			err := assembly.CheckDraft(config.Inspect(file, config.Options{}))
			require.Error(t, err)
			require.Contains(t, strings.ReplaceAll(err.Error(), dir+"/", ""), row.want)
		})
	}
}
