package demo_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/cmd/vedette/demo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines returns the demo's lines that hold all the words.
func lines(out string, words ...string) int {
	n := 0
	for l := range strings.SplitSeq(out, "\n") {
		all := true
		for _, w := range words {
			all = all && strings.Contains(l, w)
		}
		if all {
			n++
		}
	}
	return n
}

func playRequests(t *testing.T, answers string) (dir, out string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "demo")
	var b bytes.Buffer
	o := demo.Options{Dir: dir, Out: &b}
	if answers != "" {
		o.In = strings.NewReader(answers)
	}
	require.NoError(t, demo.Run(t.Context(), o))
	return dir, b.String()
}

// The demo does real work on real files, mail leaves over SMTP, and each way to
// stop a call is seen once.
func TestDemo(t *testing.T) {
	dir, out := playRequests(t, "")
	summary, err := os.ReadFile(filepath.Join(dir, "workspace/summaries/q4-budget.md"))
	require.NoError(t, err)
	require.Contains(t, string(summary), "3,500 over plan")
	sent, err := filepath.Glob(filepath.Join(dir, "outbox/new/*"))
	require.NoError(t, err)
	require.Len(t, sent, 1, "one mail left, to John")
	mail, err := os.ReadFile(sent[0])
	require.NoError(t, err)
	require.Contains(t, string(mail), "john@example.com")
	require.NotContains(t, string(mail), "northwind")
	report, err := os.ReadFile(filepath.Join(dir, "workspace/reports/budget-q4.md"))
	require.NoError(t, err)
	require.Contains(t, string(report), "33,500", "the report is where it was, unchanged")
	notes, err := os.ReadFile(filepath.Join(dir, "workspace/notes/suppliers.md"))
	require.NoError(t, err)
	require.Contains(t, string(notes), "due 30 November")

	require.Equal(t, 1, lines(out, "deny", "email.send", "scope:"), out)
	require.Equal(t, 1, lines(out, "deny", "files.read", "guard:"), out)
	require.Equal(t, 1, lines(out, "deny", "files.archive", "review:"), out)
	require.Equal(t, 1, lines(out, "ask", "files.update", "judge:"), out)
	require.Equal(t, 1, lines(out, "deny", "files.update", "approval: declined"), out)
	require.Equal(t, 1, lines(out, "ask", "email.send", "permission:"), out)
	require.Equal(t, 1, lines(out, "scripted server"), "it says that it is a script")
	require.Equal(t, 1, lines(out, "records and verifies"))
	require.Zero(t, lines(out, "failed "), out)
	require.NotContains(t, out, "\x1b[", "no colour off a terminal")
}

// At a terminal the person decides: who declines sends nothing.
func TestDemoWithAPerson(t *testing.T) {
	dir, out := playRequests(t, "n\nn\n")
	sent, err := filepath.Glob(filepath.Join(dir, "outbox/new/*"))
	require.NoError(t, err)
	require.Empty(t, sent)
	require.Contains(t, out, "approve this call? [y/N]")
	require.Equal(t, 1, lines(out, "deny", "email.send", "approval: refused by terminal"), out)
	require.Equal(t, 1, lines(out, "was not sent to John"), out)
}

// Who approves what the judge held gets it, and is told so.
func TestDemoWithATrustingPerson(t *testing.T) {
	dir, out := playRequests(t, "y\ny\n")
	report, err := os.ReadFile(filepath.Join(dir, "workspace/reports/budget-q4.md"))
	require.NoError(t, err)
	require.NotContains(t, string(report), "33,500")
	require.Equal(t, 1, lines(out, "because you approved that"), out)
}

// A folder that holds something is left alone.
func TestDemoWantsAnEmptyFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.txt")
	require.NoError(t, os.WriteFile(file, []byte("mine"), 0o600))
	err := demo.Run(t.Context(), demo.Options{Dir: dir, Out: &bytes.Buffer{}})
	require.ErrorContains(t, err, "is not an empty folder")
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, list, 1)
}
