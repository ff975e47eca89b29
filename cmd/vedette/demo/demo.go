// Package demo plays three requests through a real Vedette. Files, Maildir, mail over
// SMTP, ledger and a model over HTTP are real. Without a key the model is a scripted
// server on loopback, which says that it is one.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// Options shape a run.
type Options struct {
	// Dir is where workspace, mailbox and ledger are put; empty makes a
	// temporary folder. It must be empty or new.
	Dir string
	// Live asks a real model in place of the script.
	Live *Live
	// In is a terminal that a person can approve at; nil lets a script answer.
	In  io.Reader
	Out io.Writer
	// Hold keeps everything running after the last request, until ctx ends.
	Hold bool
	// Colour draws outcomes in colour.
	Colour bool
}

// Live says which real model to ask.
type Live struct {
	BaseURL, Key, Model, Fast string
}

// request is one thing the user asks for.
type request struct{ id, about, text string }

var requests = []request{
	{"demo-1", "two agents at once, a third that needs both",
		"What did Sarah write about the Q4 budget, and what does our budget report say? Put a summary into summaries/q4-budget.md."},
	{"demo-2", "mail leaves only with a person's approval",
		"Email John the budget report, please."},
	{"demo-3", "a mail that gives orders to assistants",
		"Read the supplier's mail about invoice 4711, note in notes/suppliers.md when it is due, and tell me what they want."},
}

// Run plays the demo. It fails where anything in it did not work; a refused
// call is not a failure.
func Run(ctx context.Context, o Options) (err error) {
	s := &screen{out: o.Out, colour: o.Colour}
	dir, err := prepareFolder(o.Dir)
	if err != nil {
		return err
	}
	defer func() {
		if no := (*unplayable)(nil); errors.As(err, &no) {
			err = errors.Join(err, emptyFolder(dir))
		}
	}()
	out, err := startOutbox(ctx, filepath.Join(dir, "outbox"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	env := map[string]string{"VEDETTE_DEMO_SMTP": out.address()}
	stop, err := startModel(ctx, o, s, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	cfg, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{
		Env: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
	})
	if err != nil {
		return err
	}
	s.printf("folder    %s\n", dir)
	if err := playRequests(ctx, cfg, o, s); err != nil {
		return err
	}
	return verifyAndHint(context.WithoutCancel(ctx), cfg, s, dir) // what was held ends by an interrupt
}

// startModel starts the scripted server, or names the live one.
func startModel(ctx context.Context, o Options, s *screen, env map[string]string) (stop func() error, err error) {
	if o.Live != nil {
		env["VEDETTE_DEMO_URL"], env["VEDETTE_DEMO_KEY"] = o.Live.BaseURL, o.Live.Key
		env["VEDETTE_DEMO_MODEL"], env["VEDETTE_DEMO_FAST"] = o.Live.Model, o.Live.Fast
		s.printf("model     %s (live)\n", o.Live.Model)
		return func() error { return nil }, nil
	}
	sc, err := scripted.Load(script)
	if err != nil {
		return nil, fmt.Errorf("the demo's script: %w", err)
	}
	srv, err := scripted.Serve(ctx, sc, scripted.Options{})
	if err != nil {
		return nil, err
	}
	env["VEDETTE_DEMO_URL"] = srv.BaseURL()
	s.printf("model     a scripted server on loopback: no model thinks here, but every request is a real one\n")
	return func() error { srv.Close(); return nil }, nil
}

// playRequests sends the three requests, each in a conversation of its own.
func playRequests(ctx context.Context, cfg *config.Config, o Options, s *screen) (err error) {
	// An interrupt ends no request: what was begun is finished, for a while.
	work := context.WithoutCancel(ctx)
	orc, err := orchestrator.New(work, cfg, orchestrator.Options{
		Approver: newApprover(o, s), Observe: s.onEvent, OnAgent: s.onAgent,
		Log: slog.New(slog.DiscardHandler), // the screen tells each decision
	})
	if err != nil {
		return &unplayable{filepath.Dir(cfg.Ledger.Path), err}
	}
	drained := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { drained <- drainWork(work, orc, s) })
	defer func() {
		switch stopped := stop(); {
		case stopped && ctx.Err() == nil: // the operator didn't interrupt
			err = errors.Join(err, orc.Close(work))
			return
		case stopped: // this moment: hold may hear of it first
			drained <- drainWork(work, orc, s)
		}
		if derr := <-drained; derr != nil || errors.Is(err, orchestrator.ErrClosed) {
			err = derr // that a request was cut off has been said
		}
	}()
	for i, r := range requests {
		conv, err := orc.Open(work, orchestrator.ConversationOptions{ID: r.id, User: "ann"})
		if err != nil {
			return err
		}
		s.printf("\n%d. %s\n   ann: %s\n", i+1, r.about, r.text)
		reply, err := conv.Send(work, r.text)
		if err != nil {
			return fmt.Errorf("request %d: %w", i+1, err)
		}
		s.printf("   vedette: %s\n   (%s)\n", wrapText(reply.Text, "            "), reply.Took.Round(time.Millisecond))
	}
	if o.Hold {
		waitForInterrupt(ctx, orc, s, cfg.Ledger.Path)
	}
	return nil
}

// drainTime is how long what was begun has to end after an interrupt.
const drainTime = 10 * time.Second

// drainWork finishes the work and says what it had to cut off.
func drainWork(ctx context.Context, orc *orchestrator.Orchestrator, s *screen) error {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	d, err := orc.Drain(ctx)
	s.printf("\n%s\n", d)
	return err
}

// waitForInterrupt says how to look in from another terminal and waits for an interrupt.
func waitForInterrupt(ctx context.Context, orc *orchestrator.Orchestrator, s *screen, db string) {
	if err := orc.Reachable(ctx); err != nil && ctx.Err() == nil {
		s.printf("\nWARNING: vedette top and vedette pause can't reach this process, so nothing here can be paused:\n  %s\n", err)
		s.printf("holding all the same until you interrupt it\n")
		<-ctx.Done()
		return
	}
	s.printf("\nholding until you interrupt it; from another terminal\n")
	for _, line := range []string{"top", "pause --all", "pause --lift --all"} {
		s.printf("  vedette %s --db %s\n", line, db)
	}
	<-ctx.Done()
}

// verifyAndHint verifies the ledger and says what to try next.
func verifyAndHint(ctx context.Context, cfg *config.Config, s *screen, dir string) error {
	pub, err := readPublicKey(cfg)
	if err != nil {
		return err
	}
	rep, err := ledger.Verify(ctx, cfg.Ledger.Path, ledger.VerifyOptions{PublicKey: pub})
	if err != nil {
		return fmt.Errorf("the ledger does not verify: %w", err)
	}
	c := s.countsSoFar()
	s.printf("\n%d decisions: %d allowed, %d denied or declined, %d of them after a person was asked\n",
		c.decisions, c.allowed, c.decisions-c.allowed, c.asked)
	s.printf("the ledger holds %d records and verifies\n\ntry next\n", rep.Records)
	for _, line := range []string{
		"cat " + filepath.Join(dir, "workspace/summaries/q4-budget.md"),
		"ls " + filepath.Join(dir, "outbox/new"),
		"vedette ledger list   --config " + filepath.Join(dir, "vedette.yaml"),
		"vedette ledger show   --config " + filepath.Join(dir, "vedette.yaml") + " " + s.findExampleID(),
		"vedette ledger verify --config " + filepath.Join(dir, "vedette.yaml"),
		"vedette validate " + filepath.Join(dir, "vedette.yaml"),
	} {
		s.printf("  %s\n", line)
	}
	return nil
}

var _ sentinel.Approver = scriptedPerson{}
