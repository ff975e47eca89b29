//go:build unix

package control

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/sentinel/pause"
)

// lifts is where a copy of this program lifts a pause in place of the tests.
const lifts = "VEDETTE_TEST_LIFT_AT"

func TestMain(m *testing.M) {
	if path := os.Getenv(lifts); path != "" {
		_, err := Dial(path).Lift(context.Background(), pause.Target{All: true})
		fmt.Println("answer:", err)
		return
	}
	goleak.VerifyTestMain(m)
}

// What the process has started, itself or through a shell, may neither look nor
// lift, whoever's it is; what it has not started may.
func TestDescendants(t *testing.T) {
	if runtime.GOOS != "linux" { // elsewhere nobody tells who connected
		ok, err := isDescendant(os.Getpid())
		require.NoError(t, err)
		require.False(t, ok)
		return
	}
	p, s, c := serveFor(t, readPeer)
	_, err := c.Pause(t.Context(), pause.Target{All: true})
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	for _, args := range [][]string{{self}, {"sh", "-c", `"$0"; exit`, self}, {"sh", "-c", `(sh -c '"$0"; exit' "$0"); exit`, self}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env = append(os.Environ(), lifts+"="+s.Path())
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, "answer: what this process has started may not\n", string(out))
		require.Len(t, p.Pauses(), 1)
	}
	for pid, want := range map[int]bool{os.Getpid(): false, os.Getppid(): false, 0: false, 1: false} {
		got, err := isDescendant(pid)
		require.NoError(t, err)
		require.Equal(t, want, got, pid)
	}
	gone := exec.CommandContext(t.Context(), "true")
	require.NoError(t, gone.Run())
	_, err = isDescendant(gone.Process.Pid)
	require.Error(t, err, "one that is gone can't be told of")
}

// A client asks nothing of a process of another user's, believes root, and, if
// it is root itself, whom it was told to expect.
func TestClientLooksWhoListens(t *testing.T) {
	p, _, c := serveFor(t, readPeer)
	as := func(uid int) func(net.Conn) (who, error) {
		return func(net.Conn) (who, error) { return who{uid: uid}, nil }
	}
	c.peer = as(4711)
	_, err := c.Pause(t.Context(), pause.Target{All: true})
	require.ErrorIs(t, err, ErrNotOwn)
	require.ErrorIs(t, c.Top(t.Context(), new(any)), ErrNotOwn)
	require.Empty(t, p.Pauses(), "nothing was sent")
	c.peer = as(0)
	_, err = c.Pause(t.Context(), pause.Target{All: true})
	require.NoError(t, err)

	c = Dial(c.path, 4711)
	c.peer = as(4711)
	_, err = c.Pause(t.Context(), pause.Target{All: true})
	if os.Getuid() == 0 {
		require.NoError(t, err)
	} else {
		require.ErrorIs(t, err, ErrNotOwn, "who isn't root has no business with it")
	}
}

// Among the temporary files, where everybody can make folders, neither end
// takes one that others may write or that another user made.
func TestSharedFolder(t *testing.T) {
	cases := map[string]func(dir string) error{
		"open to all":   func(dir string) error { return os.Chmod(dir, 0o755) },
		"open to group": func(dir string) error { return os.Chmod(dir, 0o770) },
		"a link": func(dir string) error {
			return os.Symlink(t.TempDir(), dir+"-link")
		},
	}
	if os.Getuid() == 0 { // nobody else can give a folder away
		cases["another user's"] = func(dir string) error { return os.Chown(dir, 4711, -1) }
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("/tmp", "vedette-test-") //nolint:usetesting // directly below /tmp, where others can make folders
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
			s, err := Listen(t.Context(), filepath.Join(dir, "s.sock"), &process{}, Options{})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
			_, err = Dial(s.Path()).Pauses(t.Context())
			require.NoError(t, err)

			require.NoError(t, spoil(dir))
			path := s.Path()
			if name == "a link" {
				t.Cleanup(func() { require.NoError(t, os.Remove(dir+"-link")) })
				path = filepath.Join(dir+"-link", "s.sock")
			}
			_, err = Dial(path).Pauses(t.Context())
			require.ErrorIs(t, err, ErrNotOwn)
			_, err = Listen(t.Context(), path, &process{}, Options{})
			require.ErrorIs(t, err, ErrNotOwn)
		})
	}
}

// A socket file that another user made is not even connected to.
func TestAnotherUsersSocket(t *testing.T) {
	_, s, c := serveFor(t, readPeer)
	require.NoError(t, checkSocketOwner(s.Path(), os.Getuid()))
	require.ErrorIs(t, checkSocketOwner(s.Path(), os.Getuid()+1), ErrNotOwn)
	c.owners = []int{os.Getuid() + 1}
	_, err := c.Pauses(t.Context())
	require.ErrorIs(t, err, ErrNotOwn)
	require.ErrorContains(t, err, "made")
}
