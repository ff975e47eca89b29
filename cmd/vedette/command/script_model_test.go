package command

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
)

// servers are the model servers of scripts that run.
var servers sync.Map

// serveScript starts a model server that plays a script, until the transcript
// ends. MODEL_URL is its address.
func serveScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: scripted SCRIPT")
	}
	sc, err := scripted.Load([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	srv, err := scripted.Serve(context.Background(), sc, scripted.Options{})
	ts.Check(err)
	servers.Store(ts, srv)
	ts.Setenv("MODEL_URL", srv.BaseURL())
	ts.Setenv("MODEL_HOST", strings.TrimPrefix(srv.URL(), "http://"))
	ts.Defer(func() { srv.Close(); servers.CompareAndDelete(ts, srv) })
}

// server is the newest one.
func server(ts *testscript.TestScript) *scripted.Server {
	srv, ok := servers.Load(ts)
	if !ok {
		ts.Fatalf("no server: use scripted")
	}
	return srv.(*scripted.Server)
}

// asked makes sure of how many requests the newest server has had, or waits for
// them.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	wait := len(args) == 2 && args[0] == "-wait"
	if neg || len(args) != 1 && !wait {
		ts.Fatalf("usage: asked [-wait] NUMBER")
	}
	srv, n := server(ts), 0
	want, err := strconv.Atoi(args[len(args)-1])
	ts.Check(err)
	came := func() bool { n = len(srv.Requests()); return n >= want }
	if wait {
		until(came)
	}
	if came(); n != want {
		ts.Fatalf("%d requests", n)
	}
}

// until waits until a condition holds. It has no bound: only a slow machine would meet one.
// The watchdog ends what hangs, with the stacks.
func until(holds func() bool) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		<-tick.C
	}
}

// wire makes sure that the server got, byte for byte, what files of prompts hold. The
// client had not read them.
func wire(ts *testscript.TestScript, neg bool, args []string) {
	sent := map[string]int{}
	for _, b := range server(ts).Requests() {
		sent[string(b)]++
	}
	for _, name := range args {
		for line := range strings.Lines(ts.ReadFile(name)) {
			_, body, ok := strings.Cut(strings.TrimSuffix(line, "}\n"), `,"body":`)
			// Once by ask, which took it from the file, and once by eval.
			if !ok || neg || sent[body] != 2 {
				ts.Fatalf("%s holds what was sent %d times", name, sent[body])
			}
		}
	}
}

// sameReport compares two reports, times and what was resumed aside.
func sameReport(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: alike FILE FILE")
	}
	resumed := regexp.MustCompile(`,"resumed":[0-9]+`)
	read := func(name string) string {
		return resumed.ReplaceAllString(varying.ReplaceAllString(ts.ReadFile(name), `"$1":0`), "")
	}
	if a, b := read(args[0]), read(args[1]); a != b {
		ts.Fatalf("%s\n%s", a, b)
	}
}

// ask is a model elsewhere. It puts the requests of one file to the server and adds the
// answers to another, whole or as text alone.
func ask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || args[0] != "body" && args[0] != "content" {
		ts.Fatalf("usage: ask body|content PROMPTS ANSWERS")
	}
	out, err := os.OpenFile(ts.MkAbs(args[2]), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		var req struct {
			Key, URL string
			Body     json.RawMessage
		}
		ts.Check(json.Unmarshal([]byte(line), &req))
		res, err := http.Post(req.URL, "application/json", bytes.NewReader(req.Body))
		ts.Check(err)
		body, err := io.ReadAll(res.Body)
		ts.Check(err)
		ts.Check(res.Body.Close())
		var said struct {
			Choices []struct{ Message struct{ Content string } }
		}
		ts.Check(json.Unmarshal(body, &said))
		answer := map[string]any{"key": req.Key, "body": json.RawMessage(body)}
		if args[0] == "content" {
			answer = map[string]any{"key": req.Key, "content": said.Choices[0].Message.Content}
		}
		ts.Check(json.NewEncoder(out).Encode(answer))
	}
	ts.Check(out.Close())
}

// hasRows waits until a file has so many lines.
func hasRows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: rows FILE NUMBER")
	}
	n := 0
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	until(func() bool {
		b, _ := os.ReadFile(ts.MkAbs(args[0])) // it may not be there yet
		n = bytes.Count(b, []byte("\n"))
		return n >= want
	})
	if n != want {
		ts.Fatalf("%s has %d lines", args[0], n)
	}
}

// tear takes the end of a file away, as a crash in the middle of a line does.
func tear(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tear FILE")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), info.Size()-20))
}

// fault makes every request to the newest server meet a fault from now on, or
// none.
func fault(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fault FAULT|none")
	}
	if stop, ok := faults.LoadAndDelete(ts); ok {
		stop.(func())()
	}
	if args[0] != "none" {
		faults.Store(ts, server(ts).FaultWhen(nil, scripted.Fault(args[0])))
	}
}

// faults holds what ends each script's fault.
var faults sync.Map
