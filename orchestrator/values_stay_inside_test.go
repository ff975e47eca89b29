package orchestrator

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/skills"
)

// No text of a user, a model or a skill is found in what is written: not in
// the database and its files, not in the log, not in an error.
func TestNoValueEscapes(t *testing.T) {
	const c = "cAnArY"
	o := with(
		skill(t, "note.good", skills.Create, skills.Untrusted, func(context.Context, string) (string, error) { return c + "-result", nil }),
		skill(t, "note.fails", skills.Create, skills.Trusted,
			func(context.Context, string) (string, error) { return "", errors.New(c + "-error") }),
		skill(t, "note.panics", skills.Create, skills.Trusted, func(context.Context, string) (string, error) { panic(c + "-panic") }),
	)
	o.tune.help = 50 * time.Millisecond // no model answers it
	odd := tool("use_skill", map[string]any{"skill": "note.good", "arguments": map[string]any{"X": c + "-arg", c + "-undeclared": c}})
	bad := tool("use_skill", `{"skill":"note.good","arguments":{"X":"`+c+`-raw","X":1}}`)
	r := start(t, o,
		orch("go", []call{
			dispatch("a", c+"-mission", "note.good", "note.fails", "note.panics").with("max_tool_calls", 20).with("context", c+"-context"),
			dispatch("b", c+"-mission-b", c+".skill"), dispatch(c, c+"-id"), tool(c+"_tool", map[string]any{c: c}), tool(toolDispatch, c),
		}, results("wait_all"), tool(toolUpdate, map[string]any{"agent_id": "a", "message": c + "-update"}), c+"-answer"),
		orch("broken", rule{"status": 400, "body": c + "-from-the-server"}),
		agent(c+"-mission", use("note.good", c+"-arg"), odd, bad, use(c+".skill", c), use("note.fails", c), use("note.panics", c),
			tool(agents.ToolRequestHelp, map[string]any{"reason": c + "-help"}), c+"-report"))
	conv := r.open("c1", "ann")
	reply, err := conv.Send(t.Context(), "go "+c+"-request")
	require.NoError(t, err)
	require.Equal(t, c+"-answer", reply.Text)
	_, err = conv.Send(t.Context(), "broken "+c)
	require.Error(t, err)
	require.NotContains(t, err.Error(), c)

	require.NotEmpty(t, r.kept(reply.Turn)[keptRequest])
	search := func(when string) {
		files, err := os.ReadDir(r.dir)
		require.NoError(t, err)
		seen := 0
		for _, f := range files {
			if !strings.HasPrefix(f.Name(), "v.db") {
				continue
			}
			if f.Type() == fs.ModeSocket {
				continue
			}
			b, err := os.ReadFile(filepath.Join(r.dir, f.Name()))
			require.NoError(t, err)
			require.NotContains(t, strings.ToLower(string(b)), strings.ToLower(c), "%s holds a value %s", f.Name(), when)
			seen++
		}
		require.Positive(t, seen)
		require.NotEmpty(t, r.log.String())
		require.NotContains(t, strings.ToLower(r.log.String()), strings.ToLower(c), when)
	}
	search("while open")
	r.verify()
	search("after closing")
}
