package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec/egress"
)

// maxEgressRecords bounds the connections of a run that are listed one by one, so
// that the list fits in skills.MaxEgress.
const maxEgressRecords = 300

// parseEgress reads the list of hosts; nil where there is none. Only the full grade has a
// network of its own in which a list can hold.
func (c *config) parseEgress(at string, allowHosts []string) (*egress.Policy, error) {
	if len(c.Egress) == 0 {
		return nil, nil
	}
	var errs []error
	if c.Network {
		errs = append(errs, &skills.PathError{Path: at,
			Msg: "is beside network: true, which lets the program reach any host; leave one of them out"})
	}
	if !slices.Contains([]string{IsolationAuto, IsolationFull, IsolationNamespaces}, c.Isolation) {
		errs = append(errs, &skills.PathError{Path: at, Msg: fmt.Sprintf("needs isolation full or auto, and isolation is %s", c.Isolation)})
	}
	policy, err := egress.Parse(at, c.Egress, allowHosts)
	return policy, errors.Join(append(errs, err)...)
}

// serveListeners serves the listeners of the program until stop is called or ctx ends. When
// stop returns, nothing of it runs, and r.egress is known.
func (r *running) serveListeners(ctx context.Context) error {
	p := r.program
	if p.policy == nil {
		closeListeners(r.listeners)
		return nil
	}
	b := &connections{list: []egress.Connection{}}
	server, err := egress.Serve(ctx, r.listeners, egress.Options{
		Policy: p.policy, Lookup: p.lookup, Recorder: b, Limits: egress.Limits{Records: maxEgressRecords},
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errBegun, err)
	}
	r.stop = func() { r.egress = b.reportTotals(server.Stop()) }
	return nil
}

// connections are those of one run. Their server adds them one at a time.
type connections struct{ list []egress.Connection }

// Record keeps a connection.
func (c *connections) Record(one egress.Connection) { c.list = append(c.list, one) }

func (c *connections) reportTotals(t egress.Totals) *skills.Egress {
	out := &skills.Egress{Connections: t.Connections, Refused: t.Refused, BytesOut: t.Out, BytesIn: t.In, Unrecorded: t.Unrecorded}
	if raw, err := json.Marshal(c.list); err == nil {
		out.Details = raw
	}
	return out
}
