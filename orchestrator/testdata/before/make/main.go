// Command make writes a database as a killed process leaves it, with its keys,
// configuration and script, into a folder. See README.md beside it.
package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/sentinel"
)

const (
	envFolder = "VEDETTE_BEFORE_FOLDER" // set in the process that is killed
	envModel  = "VEDETTE_BEFORE_MODEL"  // the model server's address, read by vedette.yaml
	within    = time.Minute
)

const configuration = `version: 1
models:
  m: {model: m, base_url: "${VEDETTE_BEFORE_MODEL:-http://127.0.0.1:9/v1}", timeout: 20s}
roles: {orchestrator: m, agent: m, sentinel: m}
skills: {include: ["skills.yaml"]}
judge: {threshold: 0, ask_below: 0}
permissions: [{skill: notes.keep, then: ask, reason: "a person looks at every note"}]
approvals: {timeout: 720h}
journal: {retention: 87600h}
ledger: {path: ./vedette.sqlite}
keys: {dir: ./keys}
`

const skillFile = `skills:
  - name: notes.keep
    description: Keep a note.
    effect: create
    reaches: self
    parameters: {type: object, properties: {text: {type: string, x-content: true}}}
    run: {template: "kept"}
  - name: notes.look
    description: Look at the notes.
    effect: read
    reaches: self
    parameters: {type: object, properties: {topic: {type: string}}}
    run: {template: "a note that somebody else wrote"}
`

// ruleHang stands before the script while the database is made: the model of
// the agent looker doesn't answer.
const ruleHang = `  - {when: {has_tool: request_help, user_contains: "look at the notes", tool_results: 1}, reply: {hang: true}}
`

const scriptHead = "rules:\n"

const scriptRules = `  - {when: {has_tool: dispatch_agent, last_user_contains: "keep a note", tool_results: 0},
     reply: {tool_calls: [{name: dispatch_agent, arguments: {agent_id: keeper, mission: "keep the note", skills: [notes.keep]}}]}}
  - {when: {has_tool: dispatch_agent, last_user_contains: "keep a note", tool_results: 1},
     reply: {tool_calls: [{name: get_agent_results, arguments: {mode: wait_all, agent_ids: [], timeout_seconds: 300}}]}}
  - {when: {has_tool: dispatch_agent, last_user_contains: "keep a note", tool_results: 2}, reply: {content: "the note is kept"}}
  - {when: {has_tool: request_help, user_contains: "keep the note", tool_results: 0},
     reply: {tool_calls: [{name: use_skill, arguments: {skill: notes.keep, arguments: {text: "buy milk"}}}]}}
  - {when: {has_tool: request_help, user_contains: "keep the note", tool_results: 1}, reply: {content: "kept it"}}

  - {when: {has_tool: dispatch_agent, last_user_contains: "what is new", tool_results: 0},
     reply: {tool_calls: [{name: dispatch_agent, arguments: {agent_id: looker, mission: "look at the notes", skills: [notes.look]}}]}}
  - {when: {has_tool: dispatch_agent, last_user_contains: "what is new", tool_results: 1},
     reply: {tool_calls: [{name: get_agent_results, arguments: {mode: wait_all, agent_ids: [], timeout_seconds: 300}}]}}
  - {when: {has_tool: dispatch_agent, last_user_contains: "what is new", tool_results: 2}, reply: {content: "one note is new"}}
  - {when: {has_tool: request_help, user_contains: "look at the notes", tool_results: 0},
     reply: {tool_calls: [{name: use_skill, arguments: {skill: notes.look, arguments: {topic: "news"}}}]}}
  - {when: {has_tool: request_help, user_contains: "look at the notes", tool_results: 1}, reply: {content: "looked at them"}}

  - {when: {has_tool: dispatch_agent, last_user_contains: "read it to me", tool_results: 0},
     reply: {tool_calls: [{name: dispatch_agent, arguments: {agent_id: reader, mission: "read them out", skills: [notes.look]}}]}}
  - {when: {has_tool: dispatch_agent, last_user_contains: "read it to me", tool_results: 1},
     reply: {tool_calls: [{name: get_agent_results, arguments: {mode: wait_all, agent_ids: [], timeout_seconds: 300}}]}}
  - {when: {has_tool: dispatch_agent, last_user_contains: "read it to me", tool_results: 2}, reply: {content: "it says hello"}}
  - {when: {has_tool: request_help, user_contains: "read them out", tool_results: 0},
     reply: {tool_calls: [{name: use_skill, arguments: {skill: notes.look, arguments: {topic: "all"}}}]}}
  - {when: {has_tool: request_help, user_contains: "read them out", tool_results: 1}, reply: {content: "read them"}}

  - {when: {has_tool: dispatch_agent, last_user_contains: "say hello"}, reply: {content: "hello"}}
  - {when: {has_tool: dispatch_agent, last_user_contains: "once more"}, reply: {content: "as I said"}}
`

// work is what each conversation is sent; those that end are waited for.
var work = []struct {
	conversation, user, text string
	ends                     bool
}{
	{"finished", "dan", "say hello", true},
	{"tainted", "cat", "read it to me", true},
	{"open", "bob", "what is new", false},
	{"held", "ann", "keep a note", false},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if dir := os.Getenv(envFolder); dir != "" {
		return serve(dir)
	}
	if len(os.Args) != 2 {
		return errors.New("name the folder to write")
	}
	dir, err := filepath.Abs(os.Args[1])
	if err != nil {
		return err
	}
	return write(dir)
}

// write fills the folder and kills the process that works in it.
func write(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{"vedette.yaml": configuration, "skills.yaml": skillFile, "script.yaml": scriptHead + scriptRules} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	script, err := scripted.Load([]byte(scriptHead + ruleHang + scriptRules))
	if err != nil {
		return err
	}
	models, err := scripted.Serve(context.Background(), script, scripted.Options{})
	if err != nil {
		return err
	}
	defer models.Close()
	if err := killAtWork(dir, models); err != nil {
		return err
	}
	return fold(filepath.Join(dir, "vedette.sqlite"))
}

// killAtWork runs this program again and kills it in the midst of its work.
func killAtWork(dir string, models *scripted.Server) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envFolder+"="+dir, envModel+"="+models.BaseURL())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "asked" {
	}
	if lines.Text() != "asked" {
		return errors.New("the process ended before a person was asked")
	}
	for start := time.Now(); time.Since(start) < within; time.Sleep(10 * time.Millisecond) {
		for _, q := range models.Requests() {
			if bytes.Contains(q, []byte("look at the notes")) && bytes.Contains(q, []byte(`"role":"tool"`)) && bytes.Contains(q, []byte("request_help")) {
				return nil
			}
		}
	}
	return errors.New("the agent looker never asked its model a second time")
}

// asker is an approver that says when it is asked and never answers.
type asker struct{}

func (asker) Approve(ctx context.Context, _ sentinel.Call, _ sentinel.Decision) (sentinel.Verdict, error) {
	fmt.Println("asked")
	<-ctx.Done()
	return sentinel.Verdict{}, ctx.Err()
}

// serve does the work until it is killed.
func serve(dir string) error {
	cfg, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{})
	if err != nil {
		return err
	}
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	o, err := orchestrator.New(ctx, cfg, orchestrator.Options{Approver: asker{}, NoReview: true, Log: log})
	if err != nil {
		return err
	}
	failed := make(chan error, len(work))
	for _, w := range work {
		c, err := o.Open(ctx, orchestrator.ConversationOptions{ID: w.conversation, User: w.user})
		if err != nil {
			return err
		}
		if w.ends {
			reply, err := c.SendRequest(ctx, orchestrator.Request{ID: "r1", Text: w.text})
			if err != nil {
				return err
			}
			text, _ := json.Marshal(reply.Text) // a string marshals
			fmt.Println(w.conversation, strings.TrimSpace(string(text)))
			continue
		}
		go func() {
			_, err := c.SendRequest(ctx, orchestrator.Request{ID: "r1", Text: w.text})
			failed <- fmt.Errorf("%s ended, and should not have: %w", w.conversation, err)
		}()
	}
	return <-failed
}

// fold puts the write-ahead log into the database, so that one file holds all.
func fold(path string) (err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var busy, log, done int
	if err := db.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("the write-ahead log is in use")
	}
	for _, left := range []string{".lock", ".sock"} { // of the killed process
		if err := os.Remove(path + left); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
