package chat

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// typist is a person at a terminal that a keyboard reads.
type typist struct {
	t     *testing.T
	hands *os.File
	k     reader
	seen  string
}

func newTypist(t *testing.T) *typist {
	t.Helper()
	hands, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = hands.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(hands.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(hands.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tty.Close() })
	k, err := openKeyboard(tty)
	require.NoError(t, err)
	t.Cleanup(k.close)
	return &typist{t: t, hands: hands, k: k}
}

// write types, and waits until the terminal has it: then it shows it.
func (p *typist) write(text string) {
	p.t.Helper()
	_, err := p.hands.WriteString(text)
	require.NoError(p.t, err)
	shown := strings.ReplaceAll(text, "\n", "\r\n")
	for buf := make([]byte, 256); !strings.Contains(p.seen, shown); {
		n, err := p.hands.Read(buf)
		require.NoError(p.t, err)
		p.seen += string(buf[:n])
	}
	p.seen = ""
}

// What was typed before a question has not its number, whether it was read already, waited to be read,
// or was not ended yet.
func TestTypedAhead(t *testing.T) {
	p := newTypist(t)
	for range 50 {
		p.write("y\n")
		p.write("yes\ny")
		number := p.k.openQuestion()
		p.write("no\n")
		for {
			l := <-p.k.lines()
			if l.question == number {
				require.Equal(t, "no", l.text)
				break
			}
			require.Zero(t, l.question)
		}
		p.k.closeQuestion()
	}
}

// A line that was typed for one question is none for the next.
func TestLineOfAnEarlierQuestion(t *testing.T) {
	p := newTypist(t)
	first := p.k.openQuestion()
	p.write("y\n")
	l := <-p.k.lines()
	require.Equal(t, line{text: "y", question: first}, l)
	require.NotEqual(t, first, p.k.openQuestion())
	p.k.closeQuestion()
	p.write("hello\n")
	require.Equal(t, line{text: "hello"}, <-p.k.lines())
}

// The end of a terminal's input is one.
func TestEndOfTheKeyboard(t *testing.T) {
	p := newTypist(t)
	_, err := p.hands.WriteString("\x04")
	require.NoError(t, err)
	require.Equal(t, line{end: true}, <-p.k.lines())
}

// Without a terminal there is no keyboard, and each line is read as it is taken.
func TestPipe(t *testing.T) {
	k, err := openKeyboard(strings.NewReader("y\n"))
	require.NoError(t, err)
	require.Nil(t, k)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	k, err = openKeyboard(r)
	require.NoError(t, err)
	require.Nil(t, k)
	p := openPipe(r)
	_, err = w.WriteString("one\r\ntwo")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Zero(t, p.openQuestion())
	require.Equal(t, line{text: "one"}, <-p.lines())
	require.Equal(t, line{text: "two"}, <-p.lines())
	require.Equal(t, line{end: true}, <-p.lines())
	p.close()
	require.NoError(t, r.Close())
}
