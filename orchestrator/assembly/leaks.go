package assembly

import "github.com/vedette-dev/vedette/sentinel"

// watched is observe, and besides has each call that ran looked after once it
// has its outcome.
func (p *Parts) watched(observe func(sentinel.Event)) func(sentinel.Event) {
	return func(e sentinel.Event) {
		if e.Kind == sentinel.RecordOutcome {
			p.leaks.Ended(e.Call.ID())
		}
		if observe != nil {
			observe(e)
		}
	}
}

// Leaks returns how many calls were found to have left goroutines running.
func (p *Parts) Leaks() int64 { return p.leaks.Found() }
