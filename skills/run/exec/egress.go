package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec/egress"
)

// maxEgressRecords bounds the connections of a run that are listed one by one, so
// that the list fits in skills.MaxEgress.
const maxEgressRecords = 300

// checkEgress reads the list of hosts. Only the full grade has a network of its own
// in which a list can hold.
func (p *program) checkEgress(at string, allowHosts []string) error {
	if len(p.Egress) == 0 {
		return nil
	}
	var errs []error
	if p.Network {
		errs = append(errs, &skills.PathError{Path: at,
			Msg: "is beside network: true, which lets the program reach any host; leave one of them out"})
	}
	if !slices.Contains([]string{IsolationAuto, IsolationFull, IsolationNamespaces}, p.Isolation) {
		errs = append(errs, &skills.PathError{Path: at, Msg: fmt.Sprintf("needs isolation full or auto, and isolation is %s", p.Isolation)})
	}
	var err error
	p.policy, err = egress.Parse(at, p.Egress, allowHosts)
	return errors.Join(append(errs, err)...)
}

// checkProxied refuses variables that the list of hosts sets.
func (p *program) checkProxied(c *envCheck, at string) {
	if p.policy == nil {
		return
	}
	for _, e := range p.policy.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if i := slices.Index(p.Env, name); i >= 0 {
			c.fail(fmt.Sprintf("%s.env[%d]", at, i), "is set by egress; leave it out")
		}
		if _, set := p.SetEnv[name]; set {
			c.fail(at+".set_env."+name, "is set by egress; leave it out")
		}
	}
}

// serveListeners takes over r's listeners: it serves them until r.stop is called or
// ctx ends. r.stop returns when nothing of it runs, and r.egress is known then.
func (p *program) serveListeners(ctx context.Context, r *running) error {
	if p.policy == nil {
		closeAll(r.listeners)
		return nil
	}
	b := &connections{list: []egress.Connection{}}
	server, err := egress.Serve(ctx, r.listeners, egress.Options{
		Policy: p.policy, Lookup: p.lookup, Recorder: b, Limits: egress.Limits{Records: maxEgressRecords},
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errBegun, err)
	}
	r.stop = func() { r.egress = b.report(server.Stop()) }
	return nil
}

// connections are those of one run. Their server adds them one at a time.
type connections struct{ list []egress.Connection }

// Record keeps a connection.
func (c *connections) Record(one egress.Connection) { c.list = append(c.list, one) }

func (c *connections) report(t egress.Totals) *skills.Egress {
	out := &skills.Egress{Connections: t.Connections, Refused: t.Refused, BytesOut: t.Out, BytesIn: t.In, Unrecorded: t.Unrecorded}
	if raw, err := json.Marshal(c.list); err == nil {
		out.Details = raw
	}
	return out
}
