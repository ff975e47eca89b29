package demo

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
)

// Stage is what the demo plays on, for a server: a temporary folder with its mailbox, an outbox and the
// scripted model.
type Stage struct {
	Config *config.Config
	// File is the configuration's.
	File string
	out  *outbox
	stop func() error
}

// OpenStage makes a stage, and says on out where it is. Its approvals are kept in the inbox.
func OpenStage(ctx context.Context, out io.Writer) (_ *Stage, err error) {
	s, screen := &Stage{}, &screen{out: out}
	dir, err := prepareFolder("")
	if err != nil {
		return nil, err
	}
	if s.out, err = startOutbox(ctx, filepath.Join(dir, "outbox")); err != nil {
		return nil, err
	}
	env := map[string]string{"VEDETTE_DEMO_SMTP": s.out.address()}
	if s.stop, err = startModel(ctx, Options{}, screen, env); err != nil {
		return nil, errors.Join(err, s.out.close())
	}
	s.File = filepath.Join(dir, "vedette.yaml")
	s.Config, err = config.Load(s.File, config.Options{
		Env: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Config.Approvals.Inbox = true
	s.Config.Server.Listen = chooseAddress(ctx, s.Config.Server.Listen)
	screen.printf("folder    %s\n", dir)
	return s, nil
}

// chooseAddress returns the address, or one with a free port where something else listens there.
func chooseAddress(ctx context.Context, address string) string {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return "127.0.0.1:0"
	}
	_ = ln.Close() // it was taken for a look alone
	return address
}

// Load returns the demo's configuration, whatever file is named.
func (s *Stage) Load(string) (*config.Config, error) { return s.Config, nil }

// Close ends the model and the outbox. The folder stays, to look at.
func (s *Stage) Close() error { return errors.Join(s.stop(), s.out.close()) }

// MakeToken returns a token for the person who tries the demo: it sends requests as ann, and answers approvals.
func (s *Stage) MakeToken(ctx context.Context, o *orchestrator.Orchestrator) (string, error) {
	made, err := o.Parts().Tokens.Create(ctx, access.Wanted{
		Name: "demo", User: "ann", Scopes: []access.Scope{access.Chat, access.Approve, access.Review}, UserTurns: access.UserTurnsHuman,
	}, "vedette serve --demo")
	return made.Secret, err
}

// Requests are what the demo's model has a script for.
func Requests() []string {
	out := make([]string, len(requests))
	for i, r := range requests {
		out[i] = r.text
	}
	return out
}
