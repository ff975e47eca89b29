package judge

import (
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// readSaid adds the words of a user that ground to a list. In most requests nothing is pasted, and
// their own words are the request itself.
func (g *Gate) readSaid(said []*text, grant sentinel.Grant, request *text) []*text {
	own := request
	if r, _ := grant.Request(); r != grant.OwnRequest() {
		own = g.readText(grant.OwnRequest())
	}
	said = append(said, own)
	for _, words := range grant.EarlierWords() {
		said = append(said, g.readText(words))
	}
	return said
}

// goOn gives a request that only assents the request before it, and one that only points
// back too, where that asked for a change.
func (g *Gate) goOn(v *view) {
	grant := v.c.Grant()
	last, ok := grant.LastRequest()
	if !ok {
		return
	}
	v.last = g.readText(last.Words)
	if own := grant.OwnRequest(); sentinel.IsAssent(own) || v.said[0].pointsBack() && v.last.says&anyChange != 0 {
		v.request = g.readText(last.Words + "\n" + own)
		v.own = v.request
	}
}

// maxPointing is how many words a text may have that only points back.
const maxPointing = 12

// pointing are the words for what was spoken of before.
var pointing = wordSet(`same it that this them those these him her both one ones too also again other others rest second first last
	memes meme ca cela lui leur aussi autre autres dasselbe gleiche gleichen ihm ihr ihnen beide beiden auch andere anderen
	eso mismo misma tambien otro otra otros isso mesmo tambem outro outra quello quella stesso stessa anche altro altra
	hetzelfde ook andere`)

// pointingNouns stand for a thing without saying of which field it is.
var pointingNouns = wordSet(`duplicate duplicates copy copies entry entries item items thing things stuff version old older oldest new ` +
	`newer newest
	later latest earlier earliest cheaper cheapest`)

// Asks says what a text asks for of a skill: whether it names the thing that the skill is
// about, what the skill does, and someone or something besides that it is to be done to. Of a
// read, a question names what the skill does. Of a text in a language that isn't known it
// says nothing. Sentences that forbid say nothing either. Of what can't be undone, pays,
// changes or reaches others, only sentences that command say something. The text must be a
// user's own words.
func (g *Gate) Asks(words string, s *skills.Skill) (thing, action, target bool) {
	p := g.profiles.get(s, func() *profile { return newProfile(s) })
	light := s.Effect() == skills.Read || s.Effect() == skills.Create && s.Reaches() != skills.Others
	t := g.readText(command{needs: p.needs, light: light}.selectCommands(words))
	thing = !p.isBlank() && p.isSpokenIn(t)
	switch {
	case p.needs != 0:
		action = t.says&p.needs != 0
	case s.Effect() == skills.Read:
		action = t.says&looks != 0 || strings.ContainsAny(t.fold, "?؟？")
	}
	return thing, action, t.namesTarget(p)
}

// isKnownAbroad reports whether a word is one of the common words of another language.
func isKnownAbroad(w string) bool {
	for i := range languages {
		l := &languages[i]
		if says, about := l.meaningOf(w); l.function[w] || says != 0 || about != 0 {
			return true
		}
	}
	return false
}
