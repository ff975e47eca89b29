package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
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
	ts.Defer(func() { srv.Close(); servers.CompareAndDelete(ts, srv) })
}

// asked makes sure of how many requests the newest server has had.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: asked NUMBER")
	}
	srv, ok := servers.Load(ts)
	if !ok {
		ts.Fatalf("no server: use scripted")
	}
	if n := len(srv.(*scripted.Server).Requests()); strconv.Itoa(n) != args[0] {
		ts.Fatalf("%d requests", n)
	}
}

// ask is a model elsewhere: it takes the requests of one file, puts them to the
// server and adds the answers to another, whole or as text alone.
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
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		b, _ := os.ReadFile(ts.MkAbs(args[0])) // it may not be there yet
		if n := bytes.Count(b, []byte("\n")); strconv.Itoa(n) == args[1] {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("%s has %d lines", args[0], bytes.Count(b, []byte("\n")))
		}
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
