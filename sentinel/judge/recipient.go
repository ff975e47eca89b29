package judge

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// The words of a Resolution.
const (
	// ResolvedSelf is the user.
	ResolvedSelf = "self"
	// ResolvedParticipant is one of the thread that the user named, in a reply to it.
	ResolvedParticipant = "participant"
	// ResolvedMember is one of the channel that the user named.
	ResolvedMember = "member"
	// ResolvedAddressBook is an entry of a trusted record that the user's words name.
	ResolvedAddressBook = "addressbook"
	// ResolvedPlace is a channel or a repository that the agent read in, before any stranger
	// had said a word.
	ResolvedPlace = "place"
)

// Resolution says what resolved a recipient that no person wrote out.
type Resolution struct {
	Word string
	// Argument is top-level and declared, or empty.
	Argument string
	// Value is a model's text. Step is the place in the Trace, from 0, or -1.
	Value string
	Step  int
	// Doubtful says that a reader must tell: the rules know where the recipient stands, and
	// not whether the user means it.
	Doubtful bool
}

// origin is what a resolution makes of a recipient.
func (r Resolution) origin() origin {
	switch {
	case !r.Doubtful:
		return grounded
	case r.Word == ResolvedPlace:
		return visited
	}
	return entered
}

// ResolveRecipients returns what the recipients of a call resolve to, in the order of its
// arguments. Those that the user or a trusted result wrote out need no resolution.
func (g *Gate) ResolveRecipients(c sentinel.Call) []Resolution {
	if c.Skill() == nil || g.viewSignals == nil {
		return nil
	}
	v := g.readCall(c)
	var out []Resolution
	for _, val := range v.values[:min(len(v.values), maxValues)] {
		if val.kind != recipient || v.isGrounded(val) {
			continue
		}
		if r := v.resolveRecipient(val); r.Word != "" {
			out = append(out, r)
		}
	}
	return out
}

// resolveRecipient tells who a recipient is that no person wrote out. Its Word is empty where
// the rules can't tell. What a stranger tells a model to use resolves to nothing but the user.
func (v *view) resolveRecipient(val value) Resolution {
	r := Resolution{Argument: val.arg, Value: val.raw, Step: -1}
	if v.isSelf(val) {
		r.Word = ResolvedSelf
		return r
	}
	if v.request == nil || val.exact != "" || v.isOrdered(val) {
		return r
	}
	find := func(word string, doubtful bool, step int) bool {
		if step < 0 {
			return false
		}
		r.Word, r.Step, r.Doubtful = word, step, doubtful
		return true
	}
	// Strangers choose what they are called, what they write in a thread, and what a result
	// lists. So all but a place that was read in before them leaves a doubt.
	if find(ResolvedParticipant, true, findParticipant(v, val)) {
		return r
	}
	if !v.isFinal() && v.p.needs&letsIn == 0 && find(ResolvedMember, true, v.findMember(val)) {
		return r
	}
	if step, clean := v.findVisit(val); find(ResolvedPlace, !clean || v.c.Tainted(), step) {
		return r
	}
	find(ResolvedAddressBook, true, findEntry(v, val))
	return r
}

// selfWords are what skills call the user.
var selfWords = wordSet("self me myself @me @self")

// isSelf reports whether a recipient is the user.
func (v *view) isSelf(val value) bool {
	user := v.c.Grant().User()
	return selfWords[val.fold] || user != "" && exactText(val.raw) == exactText(user)
}

// placeNames are arguments that hold where people talk or work together.
var placeNames = wordSet("channel channels room rooms repo repository project board space workspace conversation chat thread account")

// findVisit looks for a place that the agent read in before: a reply goes where the talk
// already is. clean says that no stranger had said a word by then, so that the choice was
// the agent's own. It returns -1 for what is no place, and for one that a stranger named
// before the agent went there, unless the user called it by a word of its name. So must the user
// an account, and a trusted skill of the call's own domain has to have read it.
func (v *view) findVisit(val value) (step int, clean bool) {
	if strings.Contains(val.fold, "://") || isEmail(val.fold) || namesDomain(val.fold) {
		return -1, false
	}
	name := lastWord(v.splitArgName(val.arg))
	unprompted := v.c.Trace().CountUnprompted()
	if v.c.Grant().MissionTainted() {
		unprompted = 0
	}
	for i := range v.c.Trace().Len() {
		s := v.c.Trace().Step(i)
		if !isLook(s) || !slices.ContainsFunc(readPlaces(s.Args), func(p place) bool {
			return p.holds(name, val) && (p.name != "account" || v.isOwnAccount(s, val))
		}) {
			continue
		}
		if i < unprompted {
			return i, true
		}
		if v.isStrange(val) && !v.isCalled(val) {
			return -1, false
		}
		return i, false
	}
	return -1, false
}

// isOwnAccount reports whether a step read an account of the user's, between which money is moved
// and none is spent.
func (v *view) isOwnAccount(s sentinel.Step, val value) bool {
	return s.Trust == skills.Trusted && domainOf(s.Skill) == domainOf(v.c.Name()) && !v.isFinal() && !v.isOutgoing() && v.isCalled(val)
}

// minCalled is the least length of a word by which somebody calls a place.
const minCalled = 4

// isCalled reports whether the user's own words have a word of a place's name: "the team" is
// #team-lantern, and "current" current-01.
func (v *view) isCalled(val value) bool {
	if v.own == nil || isEmail(val.fold) || strings.ContainsAny(val.fold, "@/:") {
		return false
	}
	for w := range strings.FieldsFuncSeq(val.fold, func(r rune) bool { return !isWordRune(r) }) {
		if len(w) >= minCalled && !hasDigit(w) && !functionWords[w] && v.own.raw[w] && v.own.people[w] {
			return true
		}
	}
	return false
}

// isLook reports whether a step read something, and did.
func isLook(s sentinel.Step) bool {
	return !s.Failed && strings.TrimSpace(s.Result) != "" && (s.Effect == skills.Read || s.Effect == "")
}

// place is where a step read, under the last word of its argument's name.
type place struct{ name, fold string }

// readPlaces returns the places in the arguments of a step.
func readPlaces(args string) []place {
	var m map[string]any
	if json.Unmarshal([]byte(args), &m) != nil {
		return nil
	}
	var out []place
	for k, at := range m {
		tail := lastWord(splitName(k))
		if !isAny(tail, placeNames) {
			continue
		}
		list, ok := at.([]any)
		if !ok {
			list = []any{at}
		}
		for _, e := range list {
			if s, ok := e.(string); ok && strings.TrimSpace(s) != "" {
				out = append(out, place{tail[0], foldText(strings.TrimSpace(s))})
			}
		}
	}
	return out
}

// holds reports whether a value is the place itself, under an argument of the same name, the
// service that is called as a repository, or one of those between whom a direct conversation is: "dm:ann,ben".
func (p place) holds(name []string, val value) bool {
	if p.fold == val.fold {
		return isAny(name, map[string]bool{p.name: true})
	}
	if worksPlaces[p.name] && isAny(name, worksNames) && p.fold[strings.LastIndexByte(p.fold, '/')+1:] == val.fold {
		return true
	}
	people, direct := strings.CutPrefix(p.fold, "dm:")
	return direct && slices.Contains(strings.Split(people, ","), strings.TrimPrefix(val.fold, "@"))
}

// What is made from a repository is called as it is.
var (
	worksPlaces = wordSet("repo repository project")
	worksNames  = wordSet("repo repository project service app application")
)

// memberKeys hold who is in a channel.
var memberKeys = wordSet("members users participants people handles names member user participant handle name username login id")

// findMember looks for a member of a channel that the user named, where the user means
// everyone of it. An address from beyond the house is no member.
func (v *view) findMember(val value) int {
	if strings.ContainsAny(val.fold, "@:/") || !v.anySaid(meansEveryone) {
		return -1
	}
	for i := range v.c.Trace().Len() {
		s := v.c.Trace().Step(i)
		if isLook(s) && slices.ContainsFunc(readPlaces(s.Args), v.isPlaceSaid) && listsMember(s.Result, val) {
			return i
		}
	}
	return -1
}

func (v *view) isPlaceSaid(p place) bool {
	at := value{kind: recipient, fold: strings.TrimPrefix(p.fold, "#"), raw: p.fold}
	return v.anySaid(func(t *text) bool { return holdsValue(t.meant, at) })
}

// meansEveryone reports whether a text says that all of some people are meant.
func meansEveryone(t *text) bool {
	return slices.ContainsFunc(personWords, func(w string) bool { return t.chosen[w] })
}

// listsMember reports whether a JSON result has a value in a list of people.
func listsMember(result string, val value) bool {
	found := false
	eachObject(result, func(o object) {
		for _, f := range o.fields {
			found = found || (f.key == "" || isAny(lastWord(splitName(f.key)), memberKeys)) && foldText(f.text) == val.fold
		}
	})
	return found
}
