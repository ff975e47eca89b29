package intake

import (
	"log/slog"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel/intent/detect"
)

// Alert tells of texts that were blocked. It holds no word of any.
type Alert struct {
	Request string    `json:"request"`
	User    string    `json:"user"`
	At      time.Time `json:"at"`
	Score   int       `json:"score"`
	// Rules are the ids of the rules that the text met.
	Rules []string `json:"rules"`
	// Others is how many more texts were blocked since the last alert.
	Others int `json:"others"`
}

// alerts tells of blocked texts, and of no more than one in a while: a flood must not become one of messages.
type alerts struct {
	every time.Duration
	tell  func(Alert)
	now   func() time.Time

	mu     sync.Mutex
	next   time.Time
	others int
}

// add tells of a blocked text, or counts it for the next alert.
func (a *alerts) add(log *slog.Logger, c *considered) {
	a.mu.Lock()
	now := a.now()
	if now.Before(a.next) && a.next.Sub(now) <= a.every { // a clock that was set back begins again
		a.others++
		a.mu.Unlock()
		return
	}
	others := a.others
	a.others, a.next = 0, now.Add(a.every)
	a.mu.Unlock()
	one := Alert{Request: c.request.ID, User: c.request.User, At: c.at, Score: c.info.Detection.Score, Others: others}
	for _, h := range c.info.Detection.Hits {
		one.Rules = append(one.Rules, h.ID)
	}
	log.Warn("a text was blocked as an attack", "request", one.Request, "user", one.User, "score", one.Score, "rules", ruleIDs(one.Rules),
		"others", others)
	if a.tell == nil {
		return
	}
	defer func() {
		if recover() != nil {
			log.Error("what is told of blocked texts panicked")
		}
	}()
	a.tell(one)
}

// ruleIDs is how many ids a log line has at most.
func ruleIDs(list []string) []string { return list[:min(len(list), 8)] }

// detected are the hits of a report without their evidence.
func detected(r detect.Report) []recordedHit {
	out := make([]recordedHit, len(r.Hits))
	for i, h := range r.Hits {
		out[i] = recordedHit{h.ID, h.Score, h.Via}
	}
	return out
}
