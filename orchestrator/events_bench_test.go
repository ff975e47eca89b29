package orchestrator

import (
	"sync"
	"testing"
)

// What an event costs the turn that tells it, by how many readers there are.
func BenchmarkEvents(b *testing.B) {
	for name, readers := range map[string]int{"no reader": 0, "1 reader": 1, "64 readers": 64} {
		b.Run(name, func(b *testing.B) {
			var table eventTable
			l := table.openLog("ann", "c1")
			l.beginTurn("t1", "r1")
			stop := make(chan struct{})
			var done sync.WaitGroup
			for range readers {
				table.attachReader("ann", "c1")
				done.Go(func() {
					for at := l.newestPlace(); ; {
						_, next, more := l.readEvents(at)
						at = next
						if more == nil {
							continue
						}
						select {
						case <-more:
						case <-stop:
							return
						}
					}
				})
			}
			b.ReportAllocs()
			for b.Loop() {
				l.addEvent(Event{Kind: EventText, Turn: "t1", Text: "piece "})
			}
			close(stop)
			done.Wait()
		})
	}
}
