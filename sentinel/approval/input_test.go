package approval_test

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// asked starts a question and returns where its verdict will come.
func asked(t *testing.T, term *approval.Terminal) <-chan sentinel.Verdict {
	t.Helper()
	c, d := call(t, `{"to":"bob@example.com"}`)
	out := make(chan sentinel.Verdict, 1)
	go func() {
		v, err := term.Approve(t.Context(), c, d)
		if err != nil {
			v = sentinel.Refuse("error", err.Error())
		}
		out <- v
	}()
	return out
}

// A y that comes after its question has expired approves nothing, whenever and in how many
// parts it comes: then the person is asked once more.
func TestLateAnswer(t *testing.T) {
	for name, late := range map[string]func(type_ func(string), ask func() <-chan sentinel.Verdict) <-chan sentinel.Verdict{
		"before the next question": func(type_ func(string), ask func() <-chan sentinel.Verdict) <-chan sentinel.Verdict {
			type_("y\n")
			return ask()
		},
		"twice": func(type_ func(string), ask func() <-chan sentinel.Verdict) <-chan sentinel.Verdict {
			type_("y\ny\n")
			return ask()
		},
		"in two halves": func(type_ func(string), ask func() <-chan sentinel.Verdict) <-chan sentinel.Verdict {
			type_("y")
			v := ask()
			type_("\n")
			return v
		},
		"while the next question is open": func(type_ func(string), ask func() <-chan sentinel.Verdict) <-chan sentinel.Verdict {
			v := ask()
			type_("y\n")
			return v
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, w := io.Pipe()
				screen := &lockedBuffer{}
				term := approval.NewTerminal(approval.TerminalOptions{In: r, Out: screen, Timeout: time.Minute})
				require.Equal(t, approval.CodeExpired, (<-asked(t, term)).Code)
				v := late(func(s string) {
					_, err := io.WriteString(w, s)
					require.NoError(t, err)
				}, func() <-chan sentinel.Verdict {
					v := asked(t, term)
					synctest.Wait()
					return v
				})
				require.Equal(t, approval.CodeExpired, (<-v).Code, screen.String())
				require.NoError(t, w.Close())
			})
		})
	}
}

// A late y is written while the next question is being printed: it never
// counts, however the two meet.
func TestLateAnswerRacesWithTheQuestion(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			term := approval.NewTerminal(approval.TerminalOptions{In: r, Out: io.Discard, Timeout: time.Minute})
			require.Equal(t, approval.CodeExpired, (<-asked(t, term)).Code)
			_, err := io.WriteString(w, "y\n") // returns once read; what is made of it may not have been done
			require.NoError(t, err)
			require.Equal(t, approval.CodeExpired, (<-asked(t, term)).Code)
			require.NoError(t, w.Close())
		})
	}
}

// After a line that did not count, the answer is asked for again and counts.
func TestAskedAgainAfterALateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		screen := &lockedBuffer{}
		term := approval.NewTerminal(approval.TerminalOptions{In: r, Out: screen, Timeout: time.Minute})
		require.Equal(t, approval.CodeExpired, (<-asked(t, term)).Code)
		for range 3 { // the second and third are as any other
			v := asked(t, term)
			synctest.Wait()
			_, err := io.WriteString(w, "y\n")
			require.NoError(t, err)
			synctest.Wait()
			select {
			case got := <-v:
				require.Equal(t, sentinel.Allow, got.Outcome)
				continue
			default:
			}
			require.Equal(t, 1, strings.Count(screen.String(), "does not count"))
			_, err = io.WriteString(w, "y\n")
			require.NoError(t, err)
			require.Equal(t, sentinel.Allow, (<-v).Outcome)
		}
		require.Equal(t, 1, strings.Count(screen.String(), "does not count"))
		require.NoError(t, w.Close())
	})
}

// Answers that wait in a file count in their order, one for each question, and
// the file's end refuses.
func TestAnswersInAFile(t *testing.T) {
	term := approval.NewTerminal(approval.TerminalOptions{In: strings.NewReader("y\nn\ny" + strings.Repeat(" ", 10_000) + "y\ny"),
		Out: io.Discard})
	for _, want := range []string{"", approval.CodeDenied, approval.CodeDenied, "", approval.CodeNobody, approval.CodeNobody} {
		require.Equal(t, want, (<-asked(t, term)).Code)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// An input that panics, or returns nothing for ever, is one that has ended.
func TestBrokenInput(t *testing.T) {
	for name, r := range map[string]readerFunc{
		"panics":  func([]byte) (int, error) { panic("gone") },
		"nothing": func([]byte) (int, error) { return 0, nil },
	} {
		t.Run(name, func(t *testing.T) {
			term := approval.NewTerminal(approval.TerminalOptions{In: r, Out: io.Discard})
			for range 2 {
				require.Equal(t, approval.CodeNobody, (<-asked(t, term)).Code)
			}
		})
	}
}
