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
	a, layer, err := l.loadLayer(args)
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
	paths, err := listFollowPaths(ctx, layer, changes)
	if err != nil {
		return nil, err
	}
	return &skills.Follow{Skill: CommitSkill, Args: args, Paths: paths, Reasons: a.Reasons, Drop: layer.Discard}, nil
}

// Drop throws away the changes that the arguments of an exec.commit name. What is gone
// already is no error.
func (l Layers) Drop(args json.RawMessage) error {
	_, layer, err := l.loadLayer(args)
	if errors.Is(err, snapshot.ErrNoLayer) {
		return nil
	}
	if err != nil {
		return err
	}
	return layer.Discard()
}

func (l Layers) loadLayer(args json.RawMessage) (commitArgs, *snapshot.Layer, error) {
	var a commitArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return a, nil, fmt.Errorf("%w: the arguments are no commit", skills.ErrBadInput)
	}
	layer, err := snapshot.Load(l.State, a.Layer)
	return a, layer, err
}

// listFollowPaths returns the paths that committing the changes would write.
func listFollowPaths(ctx context.Context, l *snapshot.Layer, c *snapshot.Changes) ([]skills.FollowPath, error) {
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
		out[i] = skills.FollowPath{Path: pathOfChange(c, one), Deleted: one.Kind == snapshot.Deleted, Inert: inert[one]}
	}
	return out, nil
}

// IDs names what is in the state folder; none where there is no such folder. It must run
// before the first program of this process.
func (l Layers) IDs() ([]string, error) { return snapshot.IDs(l.State) }

// CallOf returns the call of the program that wrote a layer; empty where it can't be read.
func (l Layers) CallOf(id string) string {
	layer, err := snapshot.Load(l.State, id)
	if err != nil {
		return ""
	}
	return layer.Label()
}

// Discard throws a layer away. What of it was committed stays.
func (l Layers) Discard(id string) error { return snapshot.DiscardFolder(l.State, id) }

// NeedCommit reports whether exec.commit is needed: a skill may write by snapshot, or
// something that a program wrote waits still. The skill may be gone from the configuration
// since.
func (l Layers) NeedCommit(list []*skills.Skill) bool {
	if ids, err := l.IDs(); err == nil && len(ids) > 0 {
		return true
	}
	for _, s := range list {
		var o struct {
			Write []string `json:"write"`
		}
		run := s.Spec().Run
		if run.Kind == "exec" && json.Unmarshal(run.Options, &o) == nil && len(o.Write) > 0 {
			return true
		}
	}
	return false
}
