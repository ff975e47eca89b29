package setup

import (
	"context"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
)

// AnchorSent is what became of sending the newest head to an anchor.
type AnchorSent struct {
	Anchor  string `json:"anchor"`
	Kind    string `json:"kind"`
	Kept    int64  `json:"kept"`
	Problem string `json:"problem,omitempty"`
}

// SendHead sends the newest head to the anchors of a configuration, also beside a running process.
func SendHead(ctx context.Context, p Program, config string) ([]AnchorSent, error) {
	cfg, err := p.Load(config)
	if err != nil {
		return nil, err
	}
	list, err := assembly.SendHead(ctx, cfg)
	if err != nil {
		return nil, err
	}
	out := make([]AnchorSent, len(list))
	for i, s := range list {
		out[i] = AnchorSent{s.Anchor, s.Kind, s.Kept, s.Problem}
	}
	return out, nil
}

// AcceptRestored has the ledger say that a backup was restored: see assembly.AcceptRestored.
func AcceptRestored(ctx context.Context, p Program, config, by string) (newest int64, err error) {
	cfg, err := p.Load(config)
	if err != nil {
		return 0, err
	}
	newest, err = assembly.AcceptRestored(ctx, cfg, by)
	if errors.Is(err, assembly.ErrInUse) {
		return 0, &advice.Error{Err: fmt.Errorf("%s is in use", cfg.Ledger.Path), Todo: "stop the process that uses it"}
	}
	return newest, err
}
