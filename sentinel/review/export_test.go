package review

import "time"

// MetElsewhere has each model believe its server's failures, timeouts aside, as
// where another user's calls meet them all the time.
func (g *Gate) MetElsewhere() *Gate {
	for _, m := range g.modelsOfBothChains() {
		m.met = map[Failure]witness{}
		for _, f := range []Failure{Connect, RateLimited, Server} {
			m.met[f] = witness{user: "somebody else", at: time.Now().Add(1000 * time.Hour)}
		}
	}
	return g
}
