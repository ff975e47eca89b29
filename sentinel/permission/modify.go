package permission

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/vedette-dev/vedette/internal/textcut"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/sentinel"
)

// Modify applies the rules that rewrite, each once and in order. Their
// conditions see the call as it was proposed; each rewrite sees what those
// before it made. It implements sentinel.Modifier; a rule that fails is a
// *sentinel.ModifyError. The call is not changed.
func (g *Gate) Modify(ctx context.Context, c sentinel.Call) (sentinel.Rewrite, error) {
	if c.Skill() == nil || len(g.rewrites) == 0 {
		return sentinel.Rewrite{}, nil
	}
	var out sentinel.Rewrite
	var args map[string]any
	f := &facts{call: c, now: g.now}
	for _, r := range g.rewrites {
		if !r.covers(c.Skill().Name()) || !r.isForUser(c.Grant().User()) {
			continue
		}
		if fits, err := r.fitsCall(ctx, f); err != nil {
			return sentinel.Rewrite{}, r.modifyError(c, "could not be evaluated", err.Error())
		} else if !fits {
			continue
		}
		if args == nil {
			args = maps.Clone(c.Parsed())
		}
		changed, err := r.rewriteArguments(c, args)
		if err != nil {
			return sentinel.Rewrite{}, err
		}
		if changed {
			out.Rules = append(out.Rules, r.id)
		}
	}
	if len(out.Rules) == 0 {
		return sentinel.Rewrite{}, nil
	}
	raw, err := encodeCanonical(args)
	if err != nil || string(raw) == c.Args() {
		return sentinel.Rewrite{}, err
	}
	out.Args = raw
	return out, nil
}

// rewriteArguments applies the rule's rewrites to args.
func (r *rule) rewriteArguments(c sentinel.Call, args map[string]any) (changed bool, err error) {
	for i := range r.ops {
		if !c.Skill().Declares(r.ops[i].arg) {
			continue
		}
		did, err := r.ops[i].rewriteArgument(args)
		if err != nil {
			return false, r.modifyError(c, r.ops[i].arg+": "+err.Error(), "", r.ops[i].arg)
		}
		changed = changed || did
	}
	return changed, nil
}

// modifyError is the error of a rule that could not rewrite the call.
func (r *rule) modifyError(c sentinel.Call, reason, detail string, args ...string) error {
	if len(args) == 0 {
		args = r.declaredArgs(c.Skill())
	}
	return &sentinel.ModifyError{Rule: r.id, Args: args, Reason: reason, Detail: textcut.Head(detail, maxDetail)}
}

var errNoJSON = errors.New("the rewritten arguments are no JSON")

// encodeCanonical writes arguments in the canonical form that calls have.
func encodeCanonical(args map[string]any) ([]byte, error) {
	b, err := json.Marshal(args)
	if err != nil {
		return nil, errNoJSON
	}
	v := jsontext.Value(b)
	if err := v.Canonicalize(); err != nil {
		return nil, errNoJSON
	}
	return v, nil
}
