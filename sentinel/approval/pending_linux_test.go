package approval_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// terminal opens both ends of a terminal.
func terminal(t *testing.T) (keyboard, tty *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = keyboard.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tty.Close() })
	return keyboard, tty
}

// watched tells when a question stands on the screen.
type watched struct {
	lockedBuffer
	shown chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.lockedBuffer.Write(p)
	if strings.HasSuffix(string(p), "[y/N] ") {
		w.shown <- struct{}{}
	}
	return n, err
}

// What was typed into a terminal before the question is thrown away: it is the
// n after it that answers.
func TestTypedAheadAtATerminal(t *testing.T) {
	keyboard, tty := terminal(t)
	_, err := keyboard.WriteString("y\n")
	require.NoError(t, err)
	arrived, err := unix.Poll([]unix.PollFd{{Fd: int32(tty.Fd()), Events: unix.POLLIN}}, 10_000)
	require.NoError(t, err)
	require.Equal(t, 1, arrived, "the y waits to be read")
	screen := &watched{shown: make(chan struct{}, 1)}
	v := asked(t, approval.NewTerminal(approval.TerminalOptions{In: tty, Out: screen}))
	<-screen.shown
	_, err = keyboard.WriteString("n\n")
	require.NoError(t, err)
	got := <-v
	require.Equal(t, approval.CodeDenied, got.Code, screen.String())
	require.Equal(t, sentinel.Deny, got.Outcome)
}
