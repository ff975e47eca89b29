package parse_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/intent/parse"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

// hostileKind is a parser's process that a text has taken over: it does what the text says.
const hostileKind = "intent-hostile"

// playHostile is the main of such a process.
func playHostile() {
	if !exec.IsHelper(hostileKind) {
		return
	}
	read := func() map[string]json.RawMessage {
		var size [4]byte
		if _, err := io.ReadFull(os.Stdin, size[:]); err != nil {
			syscall.Exit(0)
		}
		raw := make([]byte, binary.BigEndian.Uint32(size[:]))
		_, _ = io.ReadFull(os.Stdin, raw)
		var m map[string]json.RawMessage
		_ = json.Unmarshal(raw, &m)
		return m
	}
	write := func(s string) {
		_, _ = os.Stdout.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...))
	}
	read()
	write(`{"ready":true}`)
	var task struct{ Text string }
	_ = json.Unmarshal(read()["task"], &task)
	const good = `{"action":"find_experts","constraints":{},"confidence":1}`
	switch task.Text {
	case "die":
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	case "hang":
		select {}
	case "end":
		syscall.Exit(0)
	case "garbage":
		_, _ = os.Stdout.WriteString("find experts, please")
	case "endless":
		write(`{"draft":` + string(make([]byte, 1<<20)) + `}`)
	case "huge":
		_, _ = os.Stdout.Write([]byte{0xff, 0xff, 0xff, 0xff})
	case "two questions":
		const ask = `{"ask":true}`
		write(ask)
		read()
		write(ask)
		read()
	case "code":
		write(`{"code":"everything is fine"}`)
	case "unknown action":
		write(`{"draft":{"action":"delete_all","constraints":{},"confidence":1}}`)
	case "raw text":
		write(`{"draft":{"action":"find_experts","topic":"x","note":"DROP TABLE","constraints":{},"confidence":1}}`)
	default: // it tells in its topic what it could do
		write(`{"draft":{"action":"find_experts","topic":"` + tryAll(task.Text) + `","constraints":{},"confidence":1}}`)
	}
	write(`{"draft":` + good + `}`)
	syscall.Exit(0)
}

// tryAll tries network and disk, and says in a topic's words what worked.
func tryAll(address string) string {
	did := "tried"
	if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		_ = c.Close()
		did += " network"
	}
	if os.WriteFile(filepath.Join(os.TempDir(), "x"), []byte("some words"), 0o600) == nil {
		did += " disk"
	}
	if _, err := os.ReadDir("/root"); err == nil {
		did += " home"
	}
	if len(os.Environ()) > 4 {
		did += " environment"
	}
	return did
}

// hostile returns an ensemble whose one parser is taken over, and the processes that were started for it.
func hostile(t *testing.T, timeout time.Duration, m parse.Model) (*parse.Ensemble, *started) {
	t.Helper()
	s := &started{}
	p := parse.Parser{ID: "grammar", Grammar: words(), Timeout: timeout}
	if m != nil {
		p = model("local", 75, m)
		p.Timeout = timeout
	}
	return newEnsemble(t, parse.Options{Isolation: parse.OwnProcess, Start: s.start, Ahead: 1, Parsers: []parse.Parser{p},
		Breaker: parse.Breaker{Failures: 100}}), s
}

type started struct {
	mu   sync.Mutex
	list []*exec.Helper
}

func (s *started) start(ctx context.Context) (parse.Process, error) {
	h, err := exec.StartHelper(ctx, hostileKind)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, h)
	return h, nil
}

// A process that a text has taken over can fail, and nothing else.
func TestHostileProcess(t *testing.T) {
	e, _ := hostile(t, time.Minute, nil)
	for text, want := range map[string]parse.Code{
		"die": parse.Killed, "end": parse.Killed, "garbage": parse.Schema, "endless": parse.Schema, "huge": parse.Schema, "code": parse.Schema,
		"unknown action": parse.Unknown, "raw text": parse.Schema,
	} {
		require.Equal(t, []string{string(want)}, codes(e.Parse(t.Context(), parse.Input{Text: text, User: text})), text)
	}
	srv, client := serve(t, answer(found))
	asking, _ := hostile(t, time.Minute, client)
	require.Equal(t, []string{string(parse.Schema)}, codes(asking.Parse(t.Context(), parse.Input{Text: "two questions", User: "ann"})))
	require.Len(t, srv.Received(), 1, "one text, one question")
}

// A process that hangs is ended when its time is over.
func TestHangingProcess(t *testing.T) {
	e, s := hostile(t, 500*time.Millisecond, nil)
	require.Eventually(t, func() bool { return e.Health()[0].Ready == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, []string{string(parse.Timeout)}, codes(e.Parse(t.Context(), parse.Input{Text: "hang", User: "ann"})))
	s.mu.Lock()
	first := s.list[0]
	s.mu.Unlock()
	<-first.Ended()
}

// A parser's process has no network, no disk, no home and no variables.
func TestProcessIsShutIn(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	e, _ := hostile(t, time.Minute, nil)
	got := e.Parse(t.Context(), parse.Input{Text: listener.Addr().String(), User: "ann"})
	if got[0].Failure != nil { // writing to a file ended it
		require.Equal(t, parse.Killed, got[0].Failure.Code)
		return
	}
	require.Equal(t, "tried", got[0].Intent.Topic().String())
}

// A process sees one text and ends, and one that was killed while it waited is replaced.
func TestProcessesAreUsedOnce(t *testing.T) {
	s := &started{}
	s2 := func(ctx context.Context) (parse.Process, error) {
		h, err := exec.StartHelper(ctx, parse.HelperKind)
		if err == nil {
			s.mu.Lock()
			s.list = append(s.list, h)
			s.mu.Unlock()
		}
		return h, err
	}
	e := newEnsemble(t, parse.Options{Isolation: parse.OwnProcess, Start: s2, Ahead: 1, Parsers: []parse.Parser{rules()}})
	for range 3 {
		require.Equal(t, []string{"ok"}, codes(e.Parse(t.Context(), parse.Input{Text: text, User: "ann"})))
	}
	s.mu.Lock()
	used := append([]*exec.Helper(nil), s.list[:3]...)
	s.mu.Unlock()
	for _, h := range used {
		<-h.Ended()
	}
	require.Eventually(t, func() bool { return e.Health()[0].Ready == 1 }, time.Minute, time.Millisecond)
	s.mu.Lock()
	waiting := s.list[len(s.list)-1]
	s.mu.Unlock()
	waiting.End()
	require.Equal(t, []string{"ok"}, codes(e.Parse(t.Context(), parse.Input{Text: text, User: "ann"})))
}

// Where no process can be started the parser has failed at once, and nothing reads the text in this process.
func TestNothingFallsBack(t *testing.T) {
	var starts sync.WaitGroup
	starts.Add(1)
	var once sync.Once
	e := newEnsemble(t, parse.Options{Isolation: parse.OwnProcess, Parsers: []parse.Parser{rules()}, Ahead: 1,
		Start: func(context.Context) (parse.Process, error) {
			defer once.Do(starts.Done)
			return nil, errors.New("no sandbox here")
		}})
	starts.Wait()
	got := e.Parse(t.Context(), parse.Input{Text: text, User: "ann"})
	require.Equal(t, []string{string(parse.Isolation)}, codes(got))
	require.True(t, got[0].Intent.IsZero())
}
