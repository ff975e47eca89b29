package command

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vedette-dev/vedette/internal/owntest"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/control"
)

// freePort puts a port on which nothing listens into a variable.
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: freeport VARIABLE")
	}
	port, err := owntest.FreePort()
	ts.Check(err)
	ts.Setenv(args[0], strconv.Itoa(port))
}

// awaitServer waits until a server answers /healthz.
func awaitServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serving PORT")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+args[0]+"/readyz", nil)
		ts.Check(err)
		r.Close = true
		if res, err := http.DefaultTransport.RoundTrip(r); err == nil {
			ts.Check(res.Body.Close())
			if res.StatusCode == http.StatusOK {
				tick.Stop()
				return
			}
		}
		if ctx.Err() != nil {
			ts.Fatalf("no server is ready at port %s", args[0])
		}
	}
}

// sendRequest sends a request with the token in a file, and wants a status and the code of a problem.
func sendRequest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: request STATUS CODE|- URL TOKENFILE|-")
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, args[2], nil)
	ts.Check(err)
	r.Close = true
	if args[3] != "-" {
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(args[3])))
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	ts.Check(err)
	body, err := io.ReadAll(res.Body)
	ts.Check(err)
	ts.Check(res.Body.Close())
	var p struct {
		Code      string `json:"code"`
		RequestID string `json:"request_id"`
	}
	if args[1] != "-" {
		ts.Check(json.Unmarshal(body, &p))
		if p.RequestID == "" || p.RequestID != res.Header.Get("X-Request-Id") {
			ts.Fatalf("the problem has no request id: %s", body)
		}
	}
	if strconv.Itoa(res.StatusCode) != args[0] || args[1] != "-" && p.Code != args[1] {
		ts.Fatalf("%s: got %d %s", args[2], res.StatusCode, body)
	}
	ts.Check(os.WriteFile(ts.MkAbs("answer"), body, 0o600))
}

// callServer sends a request with the token in a file, and writes its answer to the file answer.
func callServer(ts *testscript.TestScript, method, url, tokenFile, body string) (status string) {
	r, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	ts.Check(err)
	r.Close = true
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(tokenFile)))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	ts.Check(err)
	out, err := io.ReadAll(res.Body)
	ts.Check(err)
	ts.Check(res.Body.Close())
	ts.Check(os.WriteFile(ts.MkAbs("answer"), out, 0o600))
	return strconv.Itoa(res.StatusCode)
}

// postRequest sends a body, and wants a status.
func postRequest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: post STATUS URL TOKENFILE BODY")
	}
	if got := callServer(ts, http.MethodPost, args[1], args[2], args[3]); got != args[0] {
		ts.Fatalf("%s: got %s %s", args[1], got, ts.ReadFile("answer"))
	}
}

// awaitEnd reads a request until it waits no more, and wants a status then.
func awaitEnd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: ended STATUS URL TOKENFILE")
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		if got := callServer(ts, http.MethodGet, args[1], args[2], ""); got != strconv.Itoa(http.StatusAccepted) {
			if got != args[0] {
				ts.Fatalf("%s: got %s %s", args[1], got, ts.ReadFile("answer"))
			}
			return
		}
	}
}

// takeField puts a member of the last answer into a variable.
func takeField(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: field NAME VARIABLE")
	}
	var m map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("answer")), &m))
	text, ok := m[args[0]].(string)
	if !ok {
		ts.Fatalf("the answer has no text %s", args[0])
	}
	ts.Setenv(args[1], text)
}

// tokenID puts the id of a token, which its last listing has, into a variable.
func tokenID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tokenid NAME VARIABLE")
	}
	list, err := access.Offline{Database: ts.MkAbs("vedette.db")}.List(context.Background())
	ts.Check(err)
	for _, t := range list {
		if t.Name == args[0] {
			ts.Setenv(args[1], t.ID)
			return
		}
	}
	ts.Fatalf("no token has the name %s", args[0])
}

// endProcess sends SIGTERM to the process that runs on a database.
func endProcess(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sigterm DATABASE")
	}
	signalProcess(ts, args[0], syscall.SIGTERM)
}

// hangUp sends SIGHUP to the process that runs on a database.
func hangUp(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sighup DATABASE")
	}
	signalProcess(ts, args[0], syscall.SIGHUP)
}

func signalProcess(ts *testscript.TestScript, database string, s syscall.Signal) {
	var top orchestrator.Top
	ts.Check(control.Dial(control.SocketPath(ts.MkAbs(database))).Top(context.Background(), &top))
	process, err := os.FindProcess(top.PID)
	ts.Check(err)
	ts.Check(process.Signal(s))
}

// awaitReload waits until the last reload of the process on a database has an outcome.
func awaitReload(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: reloaded OUTCOME DATABASE")
	}
	door := control.Dial(control.SocketPath(ts.MkAbs(args[1])))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var s orchestrator.Status
		ts.Check(door.Status(context.Background(), &s))
		if s.Reload != nil && s.Reload.Outcome == args[0] {
			return
		}
		<-tick.C
	}
}
