package snapshot

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomScript is a script of steps on few names, so that they meet.
func randomScript(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a test
	names := strings.Fields("a b c d/a d/b d/e/a d/e/b e e/a e/f/a f")
	pick := func() string { return names[r.IntN(len(names))] }
	steps := []func() string{
		func() string { return fmt.Sprintf("echo %d >%s", r.IntN(100), pick()) },
		func() string { return fmt.Sprintf("echo %d >>%s", r.IntN(100), pick()) },
		func() string { return "rm -rf " + pick() },
		func() string { return "mkdir -p " + pick() },
		func() string { return fmt.Sprintf("mv -T %s %s", pick(), pick()) },
		func() string { return fmt.Sprintf("ln -sfn %s %s", strings.Fields("x a b d e/f")[r.IntN(5)], pick()) },
		func() string {
			return fmt.Sprintf("chmod %s %s", strings.Fields("755 700 750 777 711")[r.IntN(5)], pick())
		},
		func() string { return fmt.Sprintf("cp -T %s %s", pick(), pick()) },
		func() string { return "touch -d 2001-01-01 " + pick() },
	}
	var out []string
	for range 3 + r.IntN(25) {
		out = append(out, "{ "+steps[r.IntN(len(steps))]()+"; } 2>&- || true")
	}
	return strings.Join(out, "\n") + "\n{ chmod -R u+rwX .; } 2>&- || true"
}

// Whatever a program does, a commit makes the root what it would be had the program written to
// it, also where it is killed once and resumed.
func TestCommitOfRandomScripts(t *testing.T) {
	before := map[string]string{"a": "1", "b": "->a", "d/a": "2", "d/e/a": "3", "d/e/b": "->../a", "e/f/a": "4", "e/f/g/h": "5"}
	first, count := uint64(1), uint64(8)
	if text := os.Getenv("VEDETTE_LONG"); text != "" {
		first, count = uint64(syscall.Getpid()), 300 //nolint:gosec // a number of a process
	}
	for seed := first; seed < first+count; seed++ {
		script := randomScript(seed)
		direct := newSite(t, false)
		fillTree(t, direct.root, before)
		runDirectly(t, direct.root, script)
		s := newSite(t, seed%3 == 0)
		fillTree(t, s.root, before)
		l := s.open(t)
		runIn(t, l, script)
		c := listChanges(t, l)
		require.NoError(t, commitAcrossAKill(t, l, c.Digest, int(seed*5%40)+1), "seed %d\n%s", seed, script) //nolint:gosec // small
		if len(c.Refused()) == 0 {
			require.Equal(t, dumpTree(t, direct.root), dumpTree(t, s.root), "seed %d\n%s", seed, script)
		}
		require.NoError(t, l.Discard())
	}
}

// commitAcrossAKill commits, dies at a point if there is one of that number, and goes on.
func commitAcrossAKill(t *testing.T, l *Layer, digest string, point int) (err error) {
	t.Helper()
	died := false
	l.reach = func(string) {
		if point--; point == 0 {
			died = true
			panic("the process dies")
		}
	}
	func() {
		defer func() { require.Equal(t, died, recover() != nil) }()
		_, err = l.Commit(t.Context(), digest, CommitOptions{LeaveRefused: true})
	}()
	l.reach = nil
	if !died {
		return err
	}
	state, err := l.State()
	if err == nil && state == StateOpen {
		_, err = l.Commit(t.Context(), digest, CommitOptions{LeaveRefused: true})
		return err
	}
	require.NoError(t, err)
	_, err = l.Resume(t.Context())
	return err
}
