package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/vedette-dev/vedette/orchestrator/intake"
	"github.com/vedette-dev/vedette/skills"
)

// Ceilings say which skills a request lets agents call at most: those of the action that it asks for. It is safe for
// concurrent use.
type Ceilings struct {
	rehearsal *Rehearsal
	byAction  map[string]skills.Scope
	digest    string

	mu    sync.Mutex
	found map[string]*skills.Scope // by request; nil for a request without an intent
}

// NewCeilings takes what each action may use from the rehearsal's configuration, intent.actions.NAME.grants; or, where file
// isn't empty, from its JSON instead, for grants of skills that this configuration doesn't have:
//
//	{"pay_bill": ["file.read", "bank.send_money"], "look_up": ["calendar.*"]}
//
// An action without any may use none. The error names each action that the configuration doesn't have, and each name that is
// no skill's.
func NewCeilings(r *Rehearsal, file []byte) (*Ceilings, error) {
	lists := map[string][]string{}
	for name, a := range r.o.Config.Intent.Actions {
		lists[name] = a.Grants
	}
	if len(file) > 0 {
		clear(lists)
		if err := json.Unmarshal(file, &lists); err != nil {
			return nil, errors.New("the ceilings must be a JSON object of actions with lists of skills, such as {\"look_up\": [\"calendar.*\"]}")
		}
	}
	c := &Ceilings{rehearsal: r, byAction: map[string]skills.Scope{}, found: map[string]*skills.Scope{}}
	var errs []error
	for _, action := range slices.Sorted(maps.Keys(lists)) {
		if _, err := r.parts.Vocabulary.Action(action); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", action, err))
		}
		scope, err := skills.NewScope(lists[action]...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", action, err))
		}
		c.byAction[action] = scope
	}
	day := ""
	if r.o.Now != nil {
		day = r.o.Now().Format(time.DateOnly)
	}
	sum := sha256.Sum256(append([]byte(r.o.Config.Digest()+" "+day+" "), file...))
	c.digest = hex.EncodeToString(sum[:])
	return c, errors.Join(errs...)
}

// Digest identifies the configuration, the ceilings, and the day where the rehearsal has a clock of its own.
func (c *Ceilings) Digest() string { return c.digest }

// Bound returns what of a grant the request's action may use. A request that asks for no action, for several, for one that
// the policy or the detector stops, or for one that an approver would be asked about, may use nothing. One that its user
// would be asked to confirm counts as confirmed.
func (c *Ceilings) Bound(ctx context.Context, request string, granted skills.Scope) skills.Scope {
	ceiling := c.look(ctx, request)
	if ceiling == nil {
		return skills.Scope{}
	}
	return intersect(*ceiling, granted)
}

// Read counts the distinct requests that were looked at, and those of them that had an intent.
func (c *Ceilings) Read() (requests, withIntent int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.found {
		if s != nil {
			withIntent++
		}
	}
	return len(c.found), withIntent
}

// look finds the ceiling of a request; nil where it has no intent.
func (c *Ceilings) look(ctx context.Context, request string) *skills.Scope {
	c.mu.Lock()
	s, known := c.found[request]
	c.mu.Unlock()
	if known {
		return s
	}
	a, err := c.rehearsal.Consider(ctx, request)
	if ctx.Err() != nil {
		return nil // it was not looked at to the end
	}
	if err == nil && (a.Status == intake.Running || a.Status == intake.PendingConfirmation) {
		if action := actionOf(a); action != "" {
			scope := c.byAction[action]
			s = &scope
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found[request] = s
	return s
}

// actionOf is the action that the vote came to.
func actionOf(a intake.Answer) string {
	var one struct {
		Action string `json:"action"`
	}
	if a.Info == nil || a.Info.Vote == nil || json.Unmarshal(a.Info.Vote.Canonical, &one) != nil {
		return ""
	}
	return one.Action
}

// intersect allows what both scopes allow.
func intersect(a, b skills.Scope) skills.Scope {
	var both []string
	for _, pair := range [...][2]skills.Scope{{a, b}, {b, a}} {
		for _, name := range pair[0].List() {
			one, err := skills.NewScope(name)
			if err != nil {
				continue // it is of a scope, so it is one
			}
			if ok, _ := one.Within(pair[1]); ok {
				both = append(both, name)
			}
		}
	}
	out, _ := skills.NewScope(both...) // each is an entry of a scope
	return out
}
