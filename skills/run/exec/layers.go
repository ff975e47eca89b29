package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec/snapshot"
)

// Layers gives back the changes of programs that wait for a person, in a process that
// didn't run the programs. Its zero value finds none.
type Layers struct {
	// State is the folder of Options.State.
	State string
}

// Restore returns the call that commits what the arguments of an exec.commit name. It lists
// the changes again, and an error says that they are gone or aren't those of the digest.
func (l Layers) Restore(ctx context.Context, args json.RawMessage) (*skills.Follow, error) {
	a, layer, err := l.load(args)
	if err != nil {
		return nil, err
	}
	changes, err := layer.Changes(ctx)
	if err != nil {
		return nil, err
	}
	if changes.Digest != a.Digest {
		return nil, snapshot.ErrDigest
	}
	paths, err := listPaths(ctx, layer, changes)
	if err != nil {
		return nil, err
	}
	return &skills.Follow{Skill: CommitSkill, Args: args, Paths: paths, Reasons: a.Reasons, Drop: layer.Discard}, nil
}

// Drop throws away the changes that the arguments of an exec.commit name. What is gone
// already is no error.
func (l Layers) Drop(args json.RawMessage) error {
	_, layer, err := l.load(args)
	if errors.Is(err, snapshot.ErrNoLayer) {
		return nil
	}
	if err != nil {
		return err
	}
	return layer.Discard()
}

func (l Layers) load(args json.RawMessage) (commitArgs, *snapshot.Layer, error) {
	var a commitArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return a, nil, fmt.Errorf("%w: the arguments are no commit", skills.ErrBadInput)
	}
	layer, err := snapshot.Load(l.State, a.Layer)
	return a, layer, err
}

// listPaths are the paths that committing the changes would write.
func listPaths(ctx context.Context, l *snapshot.Layer, c *snapshot.Changes) ([]skills.FollowPath, error) {
	list, err := l.Inert(ctx, c)
	if err != nil {
		return nil, err
	}
	inert := map[snapshot.Change]bool{}
	for _, one := range list {
		inert[one] = true
	}
	out := make([]skills.FollowPath, len(c.List))
	for i, one := range c.List {
		out[i] = skills.FollowPath{Path: pathOf(c, one), Deleted: one.Kind == snapshot.Deleted, Inert: inert[one]}
	}
	return out, nil
}
