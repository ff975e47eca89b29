package judge

import (
	"strings"
	"unicode"

	"github.com/vedette-dev/vedette/skills"
)

// profile is what a skill's name and description say it is for.
type profile struct {
	needs   verb // what it does to the world; 0 where its name has no verb known here
	changes bool // it isn't only a look
	// delegation is handing work to another agent: no request speaks of it,
	// and what that agent then does is judged call by call.
	delegation   bool
	topic        map[string]bool
	concepts     concept
	private      map[string]bool // see findPrivateRead
	aimed        bool            // its schema requires a target
	handlesMoney bool            // its name says that it pays, or it works on money and spends it
	// names holds the names of the arguments that the schema declares.
	names map[string]argName
}

func newProfile(s *skills.Skill) *profile {
	p := &profile{topic: map[string]bool{}, names: map[string]argName{}}
	for _, arg := range s.DeclaredArgs() {
		p.names[arg] = readArgName(arg)
	}
	name := s.Name()
	p.delegation = delegations[name]
	cut := strings.LastIndexByte(name, '.') + 1
	var does verb
	for i, w := range splitName(name[cut:]) {
		if v := doing[stemWord(w)]; v != 0 && does == 0 && (i == 0 || v&looks == 0) {
			does = v
			p.concepts |= concepts[stemWord(w)]
			if !everyday[w] {
				p.topic[stemWord(w)] = true
			}
			continue
		}
		p.addTopic(w)
	}
	for _, w := range splitName(name[:cut]) {
		p.addTopic(w)
	}
	if does&sends != 0 && p.concepts == 0 {
		p.concepts = talkConcepts()
	}
	p.needs = does & anyChange
	looking := does&looks != 0 && p.needs == 0
	p.changes = s.Effect() != skills.Read && !looking
	p.private = privateTopics(name)
	ofMoney, spends := p.concepts&fields.money != 0, s.Effect() == skills.CostsMoney
	p.handlesMoney = does&pays != 0 && (spends || ofMoney) || spends && ofMoney
	p.aimed = requiresTarget(s)
	if s.Effect() == skills.CostsMoney && p.needs != 0 {
		p.needs |= doing[stemWord("pay")] & pays
	}
	first, _, _ := strings.Cut(s.Spec().Description, ". ")
	for _, w := range splitName(first) {
		if st := stemWord(foldText(w)); len(st) > 3 && !vague[st] && saying[st]&^decides == 0 && doing[st] == 0 {
			p.topic[st] = true
		}
	}
	return p
}

// isOfEvents reports whether a skill works on the events of a calendar: by its name, or since it is told when they begin and end.
func (p *profile) isOfEvents() bool {
	_, begins := p.names["start"]
	_, ends := p.names["end"]
	return p.concepts&fields.calendar != 0 || begins && ends
}

// addTopic adds a word of the skill's name: those count with the whole field
// that they belong to.
func (p *profile) addTopic(w string) {
	st := stemWord(foldText(w))
	p.concepts |= concepts[st]
	if len(w) >= minToken && !vague[st] {
		p.topic[st] = true
	}
}

// delegations are the orchestrator's own skills.
var delegations = wordSet("agent.dispatch agent.update agent.extend")

// isBlank reports whether neither name nor description says what it is about.
func (p *profile) isBlank() bool { return p.concepts == 0 && len(p.topic) == 0 }

// isSpokenIn reports whether a text has a word for what the skill is about.
func (p *profile) isSpokenIn(t *text) bool {
	if t == nil {
		return false
	}
	if p.concepts&t.concepts != 0 {
		return true
	}
	for w := range p.topic {
		if t.words[w] {
			return true
		}
	}
	return false
}

// splitName splits "modify_pendingItems" and "modify pending items" alike.
func splitName(s string) []string {
	if isLowerName(s) {
		return []string{s}
	}
	var out []string
	start := 0
	for i, r := range s {
		hump := unicode.IsUpper(r) && i > start && !unicode.IsUpper(rune(s[i-1]))
		if isWordRune(r) && !hump {
			continue
		}
		if i > start {
			out = append(out, strings.ToLower(s[start:i]))
		}
		start = i
		if !isWordRune(r) {
			start = i + len(string(r))
		}
	}
	if start < len(s) {
		out = append(out, strings.ToLower(s[start:]))
	}
	return out
}

// isLowerName reports whether a name is one word of small letters, as most are.
func isLowerName(s string) bool {
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return s != ""
}

// talkConcepts are the fields of writing to somebody.
func talkConcepts() concept { return concepts["email"] | concepts["chat"] }
