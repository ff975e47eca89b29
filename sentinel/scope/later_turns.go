package scope

import (
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// splitLater sorts skills that were not granted before the taint: those that ask, those
// that are a doubt, and, in neither list, those that the turn's own words ask for.
func (g *Gate) splitLater(c sentinel.Call, later []string) (asks, doubts []string) {
	words, fresh := wordsInForce(c)
	if !fresh || g.words == nil {
		return later, nil
	}
	for _, name := range later {
		switch g.judgeAsked(words, name) {
		case sentinel.Allow:
		case sentinel.Ask:
			doubts = append(doubts, name)
		default:
			asks = append(asks, name)
		}
	}
	return asks, doubts
}

// wordsInForce returns the user's own words that a turn begins with. fresh is false where
// the turn, or the one that it only goes on with, has read what others could have written.
func wordsInForce(c sentinel.Call) (words string, fresh bool) {
	if c.TaintedThisTurn() {
		return "", false
	}
	g := c.Grant()
	if words = g.OwnRequest(); !sentinel.IsAssent(words) {
		return words, true
	}
	last, ok := g.LastRequest()
	return last.Words, ok && !last.Tainted
}

// judgeAsked says how far words ask for a skill: Allow for plainly, Ask for a doubt, and
// Deny for too little. A pattern and an unknown name are asked for by no words.
func (g *Gate) judgeAsked(words, name string) sentinel.Outcome {
	s, known := g.reg.Get(name)
	if !known {
		return sentinel.Deny
	}
	thing, action, target := g.words.Asks(words, s)
	light := s.Effect() == skills.Read || s.Effect() == skills.Create && s.Reaches() != skills.Others
	switch {
	case thing && action && (light || target):
		return sentinel.Allow
	case light && (thing || action):
		return sentinel.Ask
	}
	return sentinel.Deny
}
