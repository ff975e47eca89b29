package command

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

func TestMain(m *testing.M) {
	exec.MaybeChild()
	orchestrator.MaybeParser()
	testscript.Main(m, map[string]func(){
		"vedette":  func() { os.Exit(Main(orchestrator.Options{})) },
		"keeper":   keepInbox,
		"embedded": func() { os.Exit(Main(orchestrator.Options{Skills: []*skills.GoSkill{payInvoice()}, NoReview: true})) },
	})
}

// payInvoice is the Go skill of a program that has the command line in it.
func payInvoice() *skills.GoSkill {
	type invoice struct {
		Payee  string `json:"payee" jsonschema_extras:"x-target=true"`
		Amount int    `json:"amount"`
	}
	g, err := skills.Func(skills.Spec{Name: "pay.invoice", Effect: skills.CostsMoney, Reaches: skills.Others},
		func(context.Context, invoice) (string, error) { return "paid", nil })
	if err != nil {
		panic(err)
	}
	return g
}

// The transcripts say what every command prints and how it ends.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup:               setUpScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status, "golden": golden, "digests": digests, "mode": mode, "record": record, "tamper": tamper, "approvals": keepApprovals,
			"listening": listening, "freeport": freePort, "serving": awaitServer, "request": sendRequest,
			"post": postRequest, "ended": awaitEnd, "field": takeField, "tokenid": tokenID, "sigterm": endProcess,
			"sighup": hangUp, "reloaded": awaitReload,
			"locked": locked, "inbox": inbox,
			"scripted": serveScript, "fault": fault, "asked": asked, "ask": ask, "rows": hasRows, "tear": tear, "wire": wire, "alike": sameReport,
		},
	})
}

// setUpScript puts the common files, and those too odd for a text file, beside each
// script's own.
func setUpScript(e *testscript.Env) error {
	// Else every command takes a second under the race detector, and one that fails hides a race.
	e.Setenv("GORACE", "atexit_sleep_ms=0 halt_on_error=1")
	if err := os.CopyFS(e.WorkDir, os.DirFS("testdata/common")); err != nil {
		return err
	}
	for _, dir := range []string{"workspace", "data"} {
		if err := os.Mkdir(filepath.Join(e.WorkDir, dir), 0o700); err != nil {
			return err
		}
	}
	line := `{"id":%q,"note":%q,"granted_skills":["email.search"],"proposed_action":{"skill_name":"email.search","arguments":{}}}`
	odd := map[string]string{
		"binary.bin": "\x00\x01\x02\n\xff\xfe{\n{\"user\":\"\xff\",\"proposed_action\":{\"skill_name\":\"a.b\"}}\n",
		"long.txt":   fmt.Sprintf(line, "long", strings.Repeat("x", 10<<20)) + "\n" + fmt.Sprintf(line, "after", ""),
		"wide.txt":   fmt.Sprintf(line, "wide", strings.Repeat("x", 1<<20)),
	}
	for name, text := range odd {
		if err := os.WriteFile(filepath.Join(e.WorkDir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// status runs a command that must end with the code given first.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE program [args]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	for i, a := range args {
		if s, err := strconv.Unquote(`"` + a + `"`); err == nil {
			args[i] = s // "\x1b" in a script
		}
	}
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *osexec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, not %d", got, want)
	}
}

// varying is what differs from run to run, or is a gate's to tune.
var (
	varying = regexp.MustCompile(`"(elapsed_us|score|judge_score|review_score|threshold|p50|p99)":[0-9.]+`)
	written = regexp.MustCompile(`"ts":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"`)
	digest  = regexp.MustCompile(`sha256:[0-9a-f]{64}`)
)

// listening waits until a process answers for the database.
func listening(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: listening DATABASE")
	}
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0])+"?mode=ro")
	ts.Check(err)
	defer func() { _ = db.Close() }()
	c := control.Dial(control.SocketPath(ts.MkAbs(args[0])))
	until(func() bool {
		var top orchestrator.Top
		// The demo is through when its last conversation is idle after it has worked.
		// Before its request it is idle too, and so the ledger is looked at first.
		worked := 0
		_ = db.QueryRowContext(ctx, `SELECT count(*) FROM ledger_records WHERE conversation = 'demo-3'`).Scan(&worked)
		return c.Top(ctx, &top) == nil && worked > 0 && idle(top.Tree, "conversation-demo-3")
	})
}

// idle reports whether a conversation's server has nothing to do.
func idle(list []orchestrator.ProcessInfo, conversation string) bool {
	for _, p := range list {
		if p.ID == conversation && len(p.Children) > 0 && p.Children[0].Phase == "idle" || idle(p.Children, conversation) {
			return true
		}
	}
	return false
}

// golden compares a file with another, times, scores and digests aside.
func golden(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: golden FILE WANT")
	}
	got := written.ReplaceAllString(digest.ReplaceAllString(varying.ReplaceAllString(ts.ReadFile(args[0]), `"$1":0`), "sha256"), `"ts":""`)
	if want := ts.ReadFile(args[1]); got != want {
		ts.Fatalf("%s is not %s:\n%s", args[0], args[1], got)
	}
}

// digests makes sure that two outputs have the same digests, and some.
func digests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: digests FILE FILE")
	}
	a, b := digest.FindAllString(ts.ReadFile(args[0]), -1), digest.FindAllString(ts.ReadFile(args[1]), -1)
	if len(a) == 0 || strings.Join(a, " ") != strings.Join(b, " ") {
		ts.Fatalf("%v and %v", a, b)
	}
}

// mode compares the permissions of a file.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", info.Mode().Perm()&fs.ModePerm); neg || got != args[0] {
		ts.Fatalf("%s has mode %s", args[1], got)
	}
}

// record lets an agent propose calls through the real house, and names the records that
// came of it. They are DENIED, its DECISION and PREFIX, and ALLOWED. AMBIGUOUS is the
// start of several ids.
func record(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: record")
	}
	ctx := context.Background()
	cfg, err := config.Load(ts.MkAbs("vedette.yaml"), config.Options{})
	ts.Check(err)
	parts, err := assembly.Build(ctx, cfg, assembly.Options{})
	ts.Check(err)
	sc, err := skills.NewScope("email.search")
	ts.Check(err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "g1", User: "ann", Conversation: "c1", Turn: "t1", Agent: "helper", Mission: "search", MissionBy: sentinel.ByOperator, Scope: sc,
	})
	ts.Check(err)
	desk := parts.Checkpoint.Desk(g)
	_, err = desk.Invoke(ctx, "email.search", json.RawMessage(`{"query":"CANARY"}`))
	ts.Check(err)
	var refusal *skills.Refusal
	_, err = desk.Invoke(ctx, "email.send", json.RawMessage(`{"to":"a@example.com","body":"CANARY \u001b[31m \u202e"}`))
	if !errors.As(err, &refusal) {
		ts.Fatalf("not refused: %v", err)
	}
	ts.Setenv("DECISION", refusal.DecisionID)
	ts.Setenv("POLICY", parts.Checkpoint.PolicyDigest())
	_, err = desk.Invoke(ctx, "email.search", json.RawMessage(`{"query":"CANARY","query":""}`))
	if !errors.As(err, new(*skills.Refusal)) {
		ts.Fatalf("not refused: %v", err)
	}
	for name, q := range map[string]ledger.Query{"DENIED": {Decision: refusal.DecisionID}, "ALLOWED": {Outcome: "allow"}} {
		found, err := parts.Ledger.List(ctx, q)
		ts.Check(err)
		ts.Setenv(name, found[0].ID)
		if name == "DENIED" {
			ts.Setenv("PREFIX", found[0].ID[:len(found[0].ID)-2])
			ts.Setenv("AMBIGUOUS", found[0].ID[:4])
		}
	}
	h, err := history.Open(ctx, parts.Store, parts.Journal, history.Options{})
	ts.Check(err)
	turn := history.Turn{Conversation: "c1", User: "ann", Turn: "t1"}
	ts.Check(h.Begin(ctx, turn, history.Item{Kind: "request", Data: []byte("CANARY")}))
	ts.Check(h.End(ctx, turn))
	ts.Check(parts.Close())
}

// keepApprovals keeps three approvals of ann's and one of bob's, as judge.habits does.
func keepApprovals(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: approvals")
	}
	ctx := context.Background()
	cfg, err := config.Load(ts.MkAbs("vedette.yaml"), config.Options{})
	ts.Check(err)
	parts, err := assembly.Build(ctx, cfg, assembly.Options{})
	ts.Check(err)
	ts.Check(parts.Store.Submit(ctx, func(tx *store.Tx) error {
		for i, user := range []string{"ann", "ann", "ann", "bob"} {
			at := time.Now().AddDate(0, 0, -i-1)
			_, err := parts.Journal.PutTx(tx, journal.Item{Call: "habit/hmac:" + strings.Repeat(user[:1]+"0", 16), User: user, Kind: "habit",
				Data: fmt.Appendf(nil, `{"at":%q,"skill":"email.send","to":["CANARY@b.test"]}`,
					at.Format(time.RFC3339)), Expires: time.Now().AddDate(0, 0, 90)})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	ts.Check(parts.Close())
}

// locked is status while this process writes to the database.
func locked(ts *testscript.TestScript, neg bool, args []string) {
	cfg, err := config.Load(ts.MkAbs("vedette.yaml"), config.Options{})
	ts.Check(err)
	st, err := store.Open(context.Background(), store.Options{Path: cfg.Ledger.Path})
	ts.Check(err)
	status(ts, neg, args)
	ts.Check(st.Close())
}

// tamper changes one record behind the ledger's back.
func tamper(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tamper DATABASE")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	var guard string // who owns the file takes it away and puts it back
	ts.Check(db.QueryRow(`SELECT sql FROM sqlite_schema WHERE name = 'ledger_records_no_update'`).Scan(&guard))
	_, err = db.Exec(`DROP TRIGGER ledger_records_no_update; UPDATE ledger_records SET outcome = 'deny' WHERE idx = 0; ` + guard)
	ts.Check(err)
	ts.Check(db.Close())
}
