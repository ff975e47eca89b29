package unfinished

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// expiryGrace is how long after its time a question about a commit is left alone. A desk
// may be at work on it that long.
const expiryGrace = time.Minute

// SettleCommits ends what earlier processes left uncommitted. What was allowed is
// committed, what a person is still asked about waits, the rest is thrown away. A layer
// that can't be settled stays, and is logged. SettleCommits must run before the first call
// of this process, and before SettleInterrupted.
func (c *Calls) SettleCommits(ctx context.Context) error {
	if c.o.Layers == nil {
		return nil
	}
	ids, err := c.o.Layers.IDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		call, left := c.o.Layers.CallOf(id), sentinel.FollowOver
		if call != "" {
			if left, err = c.o.Checkpoint.SettleFollow(ctx, call); err != nil {
				c.o.Log.Error("what a program wrote before the last process ended can't be settled; it is kept", "call", call, "error", err)
				continue
			}
		}
		switch left {
		case sentinel.FollowHeld:
			c.waiting = append(c.waiting, call)
			continue
		case sentinel.FollowUnknown:
			c.o.Log.Warn("what a program wrote before the last process ended may be committed in part; the next start tries again",
				"call", call)
			continue
		}
		if err := c.o.Layers.Discard(id); err != nil {
			c.o.Log.Warn("what a program wrote before the last process ended can't be thrown away", "call", call, "error", err)
		}
	}
	return nil
}

// ExpireCommits ends the questions about commits whose time is over and which no desk has
// put again. What waited for them is thrown away. A desk that is at work on one ends it by
// itself. The errors are the ledger's and the checkpoint's.
func (c *Calls) ExpireCommits(ctx context.Context) error {
	if c.o.Layers == nil {
		return nil
	}
	list, err := c.o.Ledger.List(ctx, ledger.Query{
		Skill: skills.CommitName, Kind: sentinel.RecordHeld, Without: sentinel.RecordDecision, Limit: maxHeld,
	})
	for _, r := range list {
		var b struct {
			ExpiresAt time.Time `json:"expires_at"`
		}
		if json.Unmarshal(r.Body, &b) != nil || c.o.Now().Before(b.ExpiresAt.Add(expiryGrace)) {
			continue
		}
		err = errors.Join(err, c.o.Checkpoint.ExpireFollow(ctx, r.Call))
	}
	return err
}
