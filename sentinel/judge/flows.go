package judge

import (
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/flow"
	"github.com/vedette-dev/vedette/skills"
)

// What private data costs that goes out, beyond the signal's own.
const (
	flowUnasked   = -15 // the request doesn't speak of it, or the call is a read
	flowDisguised = -30 // it is encoded, backwards or spelled: no honest call does that
)

// reportFlows returns what the call carries out of the process.
func reportFlows(v *view) flow.Report {
	if !v.hasCarried {
		v.carried, v.hasCarried = flow.Of(v.c), true
	}
	return v.carried
}

// findSensitiveFlow looks for private data and secrets of earlier results in a call that
// leaves the process, reads included. It costs more where the request doesn't speak of
// them, and most where they are disguised.
func findSensitiveFlow(v *view) finding {
	var f finding
	r := reportFlows(v)
	if r.Unread {
		f.found, f.extra = true, flowUnasked
	}
	for _, found := range r.Found {
		f.add(found.Arg)
		switch {
		case found.Disguised:
			f.extra = min(f.extra, flowDisguised)
		case v.request != nil && !v.request.known && v.p.changes && (found.Kind == flow.Words || found.Kind == flow.Figures):
		case v.request == nil || !v.p.changes || !speaksOfFlow(v, found):
			f.extra = min(f.extra, flowUnasked)
		}
	}
	return f
}

// speaksOfFlow reports whether the request speaks of what a call carries: of a secret by a word
// for such, of other data by a word for the skill that returned it.
func speaksOfFlow(v *view, found flow.Found) bool {
	r := v.own
	if found.Kind == flow.Secret {
		return secretPhrases.find(r.fold, func(int, int) bool { return true }) || r.mentionsAny(secretNames, nil)
	}
	for _, w := range splitName(found.Skill) {
		st := stemWord(foldText(w))
		if concepts[st]&r.concepts != 0 || len(st) > 2 && !vague[st] && r.words[st] {
			return true
		}
	}
	return false
}

// secretNames are words for secrets that name other things too.
var secretNames = wordSet("pin code codes token key keys passcode pwd login logins credential credentials wifi wlan secret zugangsdaten")

// softFollows is what private data or a trusted store adds beside a relation: that the request
// doesn't speak of the call is the same sign.
const softFollows = -5

// mergeSecrets takes a secret in the content and the flow of it for one sign: together they
// cost what the greater costs.
func mergeSecrets(out []sentinel.Evidence) {
	content := 0
	for _, e := range out {
		if e.Signal == SignalSecretInContent {
			content = e.Amount
		}
	}
	for i := range out {
		if out[i].Signal == SignalSensitiveFlow {
			out[i].Amount = min(0, out[i].Amount-content)
		}
	}
}

// findPrivateOutward looks for a call that leaves the process after the agent has read both
// private data and strangers' text, where the request doesn't speak of what goes out. Nothing
// needs to match: a model can say a secret in other words.
func findPrivateOutward(v *view) finding {
	if v.request == nil {
		return finding{}
	}
	if !v.c.Tainted() {
		return finding{found: tellsInOtherWords(v)}
	}
	r := reportFlows(v)
	if !r.Leaves || !slices.ContainsFunc(r.Private, func(s string) bool { return goesElsewhere(v, s) }) {
		return finding{}
	}
	if !v.p.changes {
		return findOpaque(v)
	}
	if !slices.ContainsFunc(v.contents, isProse) || findUnreadable(v).found || findWordless(v).found {
		return finding{}
	}
	_, other := findRelation(v)
	return finding{found: other || v.request.delegates || !v.request.known}
}

// minOwnWords is how many words that no one asked for a text needs to say a secret by.
const minOwnWords = 4

// tellsInOtherWords reports whether a text goes out after a secret was read of which the request
// doesn't speak, and most of its words are neither the request's nor a result's. "A small falcon"
// may be a part of a password, and nothing matches.
func tellsInOtherWords(v *view) bool {
	if !v.p.changes || v.own == nil || !v.own.known {
		return false
	}
	r := reportFlows(v)
	secretive := func(s string) bool {
		return goesElsewhere(v, s) && !speaksOfFlow(v, flow.Found{Kind: flow.Secret}) && !speaksOfFlow(v, flow.Found{Kind: flow.Words, Skill: s})
	}
	if !r.Leaves || !slices.ContainsFunc(r.Secretive, secretive) {
		return false
	}
	own, all := 0, 0
	for _, val := range v.contents {
		if !isProse(val) {
			continue
		}
		for _, w := range splitTokens(val.fold) {
			if len(w.word) <= 2 || functionWords[w.word] || everydayWords[w.word] {
				continue
			}
			if all++; !v.own.words[w.stem] && !isWrittenAnywhere(v, w.word) {
				own++
			}
		}
	}
	return own >= minOwnWords && own*2 > all
}

// goesElsewhere reports whether the call could tell others what a skill returned: it is of
// another domain, or it sends.
func goesElsewhere(v *view, skill string) bool {
	from, _, _ := strings.Cut(skill, ".")
	to, _, _ := strings.Cut(v.c.Name(), ".")
	return from != to || v.p.needs&(sends|posts|shares|invites) != 0
}

func isProse(val value) bool { return strings.Count(strings.TrimSpace(val.raw), " ") >= maxTargetWords }

// minOpaque is the least length of a word that no reader can read.
const minOpaque = 20

// findOpaque looks for words with letters and digits mixed that neither the request nor a
// result has.
func findOpaque(v *view) finding {
	var f finding
	v.s.Walk(v.c.Parsed(), func(a skills.Arg) {
		s, ok := a.Text()
		if !ok || a.Marks.Has(skills.Secret) {
			return
		}
		for w := range strings.FieldsFuncSeq(foldText(s), func(r rune) bool { return !isWordRune(r) && r != '+' && r != '_' }) {
			if len(w) >= minOpaque && hasDigit(w) && strings.ContainsFunc(w, unicode.IsLetter) && !isWrittenAnywhere(v, w) {
				f.add(v.declaredName(a))
			}
		}
	})
	return f
}

func isWrittenAnywhere(v *view, w string) bool {
	if strings.Contains(v.request.fold, w) {
		return true
	}
	for _, list := range [][]string{v.trusted, v.untrusted} {
		for _, r := range list {
			if strings.Contains(r, w) {
				return true
			}
		}
	}
	return false
}

// findTrustedStore looks for strangers' text in a call that writes it where it will be read
// as trusted. The request must speak of the call; text that speaks to a model is never stored
// unasked.
func findTrustedStore(v *view) finding {
	if !writesTrusted(v) {
		return finding{}
	}
	rel, other := findRelation(v)
	other = other && !asksInWords(v, rel)
	return finding{found: carriesStrange(v, func(s sentinel.Step) bool { return other || hasOrders(s) })}
}

// findAskedStore is findTrustedStore where the request asks to write something down, and not
// in so many words where. What a turn writes that read strangers' text reads back as theirs, so
// that a reader may tell.
func findAskedStore(v *view) finding {
	if !writesTrusted(v) {
		return finding{}
	}
	if rel, other := findRelation(v); !other || !asksInWords(v, rel) || carriesStrange(v, hasOrders) {
		return finding{}
	}
	return finding{found: carriesStrange(v, func(sentinel.Step) bool { return true })}
}

// asksInWords reports whether the user's own words have one for what the call does and none for
// looking, so that only what it does that to is in doubt. Of a skill of which nothing is known
// there is no such word.
func asksInWords(v *view, rel sentinel.Evidence) bool {
	return rel.Signal == SignalOtherTopic && v.own.says&v.p.needs != 0 && v.own.says&looks == 0
}

// writesTrusted reports whether a tainted call writes into a store that is read as trusted.
func writesTrusted(v *view) bool {
	e := v.s.Effect()
	return v.request != nil && v.c.Tainted() && (e == skills.Create || e == skills.Modify) && v.p.changes &&
		v.s.Reaches() == skills.Self && v.s.Spec().Output == skills.Trusted && len(v.contents) > 0
}

func carriesStrange(v *view, fits func(sentinel.Step) bool) bool {
	return flow.Carries(v.c, func(s sentinel.Step) bool { return s.Trust != skills.Trusted && fits(s) })
}

func hasOrders(s sentinel.Step) bool {
	for _, m := range s.Marks {
		if m == sentinel.MarkInstructions {
			return true
		}
	}
	return false
}

// describeFlows says what the call carries, where that is a signal: arguments and skills by
// name, and no value.
func describeFlows(c sentinel.Call, evidence []sentinel.Evidence) string {
	for _, e := range evidence {
		if e.Signal == SignalSensitiveFlow {
			return strings.Join(flow.Of(c).Describe(), "; ")
		}
	}
	return ""
}
