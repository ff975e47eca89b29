package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/skills"
)

// runKeeper is a program that embeds Vedette: three of its calls wait for people, until it is
// told to end. With resume it asks again about what an earlier process left.
func runKeeper(resume bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT)
	defer stop()
	cfg, err := config.Load("vedette.yaml", config.Options{})
	if err != nil {
		return err
	}
	orc, err := orchestrator.New(context.WithoutCancel(ctx), cfg, orchestrator.Options{})
	if err != nil {
		return err
	}
	sc, err := skills.NewScope("email.send")
	if err != nil {
		return err
	}
	var calls sync.WaitGroup
	for n := range 3 {
		g, err := sentinel.NewGrant(sentinel.GrantOptions{
			ID: fmt.Sprint("g", n), User: "ann", Conversation: "c1", Turn: "t1", Agent: "helper", Mission: "CANARY",
			MissionBy: sentinel.ByOperator, Scope: sc,
		})
		if err != nil {
			return err
		}
		desk := orc.Parts().Checkpoint.Numbered(g)
		if resume {
			if _, err := desk.Resume(ctx, 0, 1); err != nil {
				return err
			}
		}
		calls.Go(func() {
			args := fmt.Sprintf(`{"to":"bob%d@CANARY.test","body":"CANARY \u001b[31m \u202e"}`, n)
			_, _ = desk.Invoke(ctx, "email.send", json.RawMessage(args)) // the script looks at what became of it
		})
	}
	<-ctx.Done()
	calls.Wait()
	return orc.Close(context.WithoutCancel(ctx))
}

// keepInbox is runKeeper as a program.
func keepInbox() {
	if err := runKeeper(len(os.Args) > 1 && os.Args[1] == "resume"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// inbox waits: "inbox waits N" until a process answers and so many calls wait, whose ids and
// digests are then ID1, DIGEST1 and so on; "inbox ended ID STATE" until that approval has that state.
// "inbox both ID DIGEST" approves from two processes at the same moment: one of them decides.
func inbox(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: inbox waits N | inbox ended ID STATE | inbox both ID DIGEST")
	}
	if args[0] == "both" {
		approveTwice(ts, args[1], args[2])
		return
	}
	cfg, err := config.Load(ts.MkAbs("vedette.yaml"), config.Options{})
	ts.Check(err)
	if args[0] == "ended" {
		awaitApprovals(cfg, func(list []approval.Item) bool {
			for _, i := range list {
				if i.ID == args[1] && string(i.State) == args[2] {
					return true
				}
			}
			return false
		})
		return
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	list := awaitApprovals(cfg, func(list []approval.Item) bool {
		_, err := control.Dial(control.SocketPath(cfg.Ledger.Path)).Pauses(context.Background())
		return err == nil && len(list) == want
	})
	for n, i := range list {
		ts.Setenv(fmt.Sprint("ID", n+1), i.ID)
		ts.Setenv(fmt.Sprint("DIGEST", n+1), i.Digest[:approval.MinDigest])
	}
}

// awaitApprovals waits until the approvals of a database are as is says.
func awaitApprovals(cfg *config.Config, is func([]approval.Item) bool) []approval.Item {
	var list []approval.Item
	until(func() bool {
		var err error
		list, err = records.Source{Database: cfg.Ledger.Path}.ListApprovals(context.Background(), approval.Filter{All: true})
		return err == nil && is(list)
	})
	return list
}

// approveTwice approves from two processes at the same moment. One of them decides, and the other
// is told who did.
func approveTwice(ts *testscript.TestScript, id, digest string) {
	program := ""
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "vedette")); err == nil && program == "" {
			program = filepath.Join(dir, "vedette")
		}
	}
	var both [2]struct {
		out []byte
		err error
	}
	var wg sync.WaitGroup
	for n := range both {
		wg.Go(func() {
			cmd := osexec.Command(program, "approvals", "approve", id, "--digest", digest) //nolint:gosec // the script's own
			cmd.Dir = ts.MkAbs(".")
			both[n].out, both[n].err = cmd.CombinedOutput()
		})
	}
	wg.Wait()
	first, second := both[0], both[1]
	if first.err != nil {
		first, second = second, first
	}
	ts.Check(first.err)
	if second.err == nil || !strings.Contains(string(second.out), "takes this answer no more: local:") {
		ts.Fatalf("the second answer was not refused: %s", second.out)
	}
}
