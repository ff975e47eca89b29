package judge

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
)

// Words that make a call cost less count from a user's own words alone. What was pasted into
// a request is its author's, and speaks for no user.

// ownMission is a mission without what its author copied with its quotation marks, where the
// user pasted anything.
func (v *view) ownMission(mission string) string {
	if strings.Contains(mission, "ask") { // "do what the user asks" says that there is a request, and nothing of it
		mission = userAsks.Replace(mission)
	}
	if !v.hasPasted() {
		return mission
	}
	return sentinel.OwnWords(mission)
}

// hasPasted reports whether the request holds more than the user's own words.
func (v *view) hasPasted() bool {
	g := v.c.Grant()
	request, _ := g.Request()
	own := g.OwnRequest()
	return request != own && strings.TrimSpace(request) != strings.TrimSpace(own)
}

// userAsks are the words of a mission for what the user did, which is nothing that a call has to do.
var userAsks = strings.NewReplacer("user asks", "user", "user asked", "user", "user has asked", "user", "user is asking", "user")

// askedIn is the text that says what the call has to do with the request: the user's own
// words where they name a thing and what is to be done, and else the whole request. "Do as he
// asks" says neither, and the mail below it says both.
func (v *view) askedIn() *text {
	if o := v.own; o != nil && o.known && o.says != 0 && o.concepts != 0 {
		return o
	}
	return v.request
}

// statedIn is the user's own words where they have something of a kind, and else the whole
// request. What the user stated isn't made wider by what was pasted beside it.
func (v *view) statedIn(has func(*text) bool) *text {
	if has(v.own) {
		return v.own
	}
	return v.request
}

// isPasted reports whether a value stands in what a user pasted, quoted or took back. Its
// caller knows that the user's own words don't have it. A mission that has it too is no
// ground: its author read the same text.
func (v *view) isPasted(val value) bool {
	return v.request != nil && v.request.hasValue(val) || v.anySent(func(t string) bool { return holdsValue(t, val) })
}

// anySent reports whether any text fits that the user sent: this request and those of earlier
// turns, with all that was pasted into them or taken back.
func (v *view) anySent(fits func(string) bool) bool {
	if v.sent == nil {
		request, _ := v.c.Grant().Request()
		v.sent = []string{foldText(request)}
		for _, t := range v.c.Grant().EarlierTurns() {
			v.sent = append(v.sent, foldText(t.Words))
		}
	}
	return slices.ContainsFunc(v.sent, fits)
}
