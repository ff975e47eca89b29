package doctor

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"net/url"
	"sync"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// maxSkew is how far clocks may be apart.
const maxSkew = 2 * time.Second

// examineModels asks every model that has a role.
func (e *exam) examineModels(ctx context.Context) {
	used := e.usedModels()
	if len(used) == 0 {
		e.ok("models", "no role names one")
	}
	if idle := e.idleModels(used); len(idle) > 0 {
		e.ok("models", "not asked, for no role names them: %s", nameFirst(idle))
	}
	if len(used) == 0 {
		return
	}
	wires := map[string]*wire{}
	for _, name := range used {
		wires[name] = newWire()
	}
	d, err := assembly.NewDecider(e.cfg, assembly.DeciderOptions{Transport: func(name string) http.RoundTripper {
		if w := wires[name]; w != nil {
			return w
		}
		return http.DefaultTransport // it is in no role, so no part of the program asks it
	}})
	if err != nil {
		e.problem("models", err.Error(), "vedette validate shows where")
		return
	}
	defer d.Close()
	e.reportPrompt(d.Review())
	if e.offline {
		e.ok("models", "not asked: %s", nameFirst(used))
		return
	}
	e.skipped = append(e.skipped, e.examineTogether(ctx, d, used, wires)...)
	for _, w := range wires {
		w.CloseIdleConnections()
	}
}

// usedModels are the models of all roles and of second opinions, sorted.
func (e *exam) usedModels() []string {
	names := map[string]bool{}
	for _, chain := range e.cfg.Roles {
		for _, name := range chain {
			names[name] = true
		}
	}
	for _, name := range e.cfg.Sentinel.Escalate.To {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// idleModels are the models that no role asks, sorted.
func (e *exam) idleModels(used []string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(e.cfg.Models)), func(name string) bool { return slices.Contains(used, name) })
}

func inReview(g *review.Gate, name string) bool { return g != nil && slices.Contains(g.Models(), name) }

// reportPrompt says which criteria the review goes by.
func (e *exam) reportPrompt(g *review.Gate) {
	switch {
	case g == nil:
	case e.cfg.Sentinel.Prompt != "":
		e.ok("prompt", "%s: criteria of your own, sentinel.prompt", g.State().Prompt)
	default:
		e.ok("prompt", "%s: Vedette's own", g.State().Prompt)
	}
}

func (e *exam) checkSkew(check, of string, skew time.Duration, known bool) {
	switch {
	case !known:
		e.ok(check, "%s tells no time to compare with", of)
	case skew.Abs() > maxSkew:
		e.warn(check, fmt.Sprintf("%s is %s %s this machine", of, skew.Abs().Round(time.Second), skewWord(skew)),
			"set both clocks with NTP: tokens, records and budgets go by them")
	default:
		e.ok(check, "%s agrees within %s", of, maxSkew)
	}
}

func skewWord(skew time.Duration) string {
	if skew < 0 {
		return "behind"
	}
	return "ahead of"
}

// examineTogether asks models, each in a goroutine that it waits for. Whether one is
// there is asked of all at once, so that those that hang do so side by side. What
// takes a server some work is asked of its models one after another: side by side
// they would make each other slow, and look worse than they are.
//
// The findings of one model are told together, as soon as there are all of them.
// The names are returned whose examination was given up.
func (e *exam) examineTogether(ctx context.Context, d *assembly.Decider, names []string, wires map[string]*wire) (unfinished []string) {
	exams := make([]*modelExam, len(names))
	slots, servers := make(chan struct{}, atOnce), map[string]chan struct{}{}
	var wg sync.WaitGroup
	var telling sync.Mutex
	for i, name := range names {
		own := &modelExam{exam: exam{cfg: e.cfg, began: time.Now(), given: e.given}}
		exams[i] = own
		server := serverOf(e.cfg.Models[name].BaseURL)
		if servers[server] == nil {
			servers[server] = make(chan struct{}, 1)
		}
		work := servers[server] // the map is written for the next model while this one is asked
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
			own.examineModel(ctx, d, name, wires[name], slots, work)
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

// atOnce is how many models are asked whether they answer at a time.
const atOnce = 16

// serverOf is who answers at an address.
func serverOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}
