package doctor

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
)

// atOnce is how many models are asked whether they answer at a time.
const atOnce = 16

// together asks models, each in a goroutine that it waits for. Whether one is
// there is asked of all at once, so that those that hang do so side by side. What
// takes a server some work is asked of its models one after another: side by side
// they would make each other slow, and look worse than they are.
//
// The findings of one model are told together, as soon as there are all of them.
// The names are returned whose examination was given up.
func (e *exam) together(ctx context.Context, d *assembly.Decider, names []string, wires map[string]*wire) (unfinished []string) {
	exams := make([]*exam, len(names))
	slots, servers := make(chan struct{}, atOnce), map[string]chan struct{}{}
	var wg sync.WaitGroup
	var telling sync.Mutex
	for i, name := range names {
		own := &exam{cfg: e.cfg, began: time.Now(), given: e.given}
		exams[i] = own
		server := serverOf(e.cfg.Models[name].BaseURL)
		if servers[server] == nil {
			servers[server] = make(chan struct{}, 1)
		}
		wg.Go(func() {
			defer func() {
				if r := recover(); r != nil { // the value may hold what was read
					own.problem("model "+name, fmt.Sprintf("asking it broke (%T)", r), "report this")
				}
				telling.Lock()
				defer telling.Unlock()
				for _, f := range own.findings {
					e.told(f)
				}
			}()
			own.model(ctx, d, name, wires[name], slots, servers[server])
		})
	}
	wg.Wait()
	for i, own := range exams { // in the order of their names, whichever was first
		e.findings = append(e.findings, own.findings...)
		if own.cut {
			unfinished = append(unfinished, "model "+names[i])
		}
	}
	return unfinished
}

// model asks one model: whether it is there, and then, in its server's turn, for
// all the rest.
func (e *exam) model(ctx context.Context, d *assembly.Decider, name string, w *wire, slots, server chan struct{}) {
	defer func() { e.cut = ctx.Err() != nil }()
	slots <- struct{}{}
	e.began = time.Now()
	m, _ := d.Model(name)
	there := e.reach(ctx, m, w)
	<-slots
	if !there {
		return
	}
	e.clock("model "+name, w)
	select {
	case server <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-server }()
	e.began = time.Now()
	if e.works(name) {
		e.tools(ctx, m)
	}
	if !inReview(d.Review(), name) {
		return
	}
	if e.context(m); e.schema(ctx, m) {
		e.canaries(ctx, d.Review(), []*llm.Client{m})
	}
}

// serverOf is who answers at an address.
func serverOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}
