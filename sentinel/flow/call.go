package flow

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Of reports what a call carries out of the process. It reports nothing of a call that stays
// inside, and returns at once where nothing was returned before.
func Of(c sentinel.Call) Report {
	if c.Skill() == nil || !mayCarry(c) || !leaves(c) {
		return Report{}
	}
	list := sourcesOf(c, func(s sentinel.Step) bool { return s.Sensitive || isOfAnother(s, c.Grant()) })
	if !slices.ContainsFunc(list, Source.mayCount) {
		return Find(Input{Sources: list})
	}
	return Find(inputOf(c, list))
}

// Carries reports whether the arguments of a call carry something that came back in a step
// that fits. The call may stay inside.
func Carries(c sentinel.Call, fits func(sentinel.Step) bool) bool {
	if c.Skill() == nil || !mayCarry(c) {
		return false
	}
	list := sourcesOf(c, fits)
	if !slices.ContainsFunc(list, func(s Source) bool { return s.Private }) {
		return false
	}
	in := inputOf(c, list)
	for i := range in.Now.Texts { // the rule says where it may not go, so every argument counts
		in.Now.Texts[i].Target, in.Now.Texts[i].Refers = false, false
	}
	r := Find(in)
	return r.Unread || slices.ContainsFunc(r.Found, func(f Found) bool { return list[f.source].Private })
}

// mayCarry reports whether anything came back before the call.
func mayCarry(c sentinel.Call) bool { return c.Trace().LearntSomething() || c.Trace().HasPastResults() }

// leaves reports whether a call leaves the process: it reaches others, or names a host.
func leaves(c sentinel.Call) bool {
	return c.Skill().Reaches() == skills.Others || c.Outward() || len(c.Touch().Hosts) > 0
}

// sourcesOf lists what came back before the call: in earlier turns, and in this one.
func sourcesOf(c sentinel.Call, private func(sentinel.Step) bool) []Source {
	var list []Source
	for r, memo := range c.Trace().PastResults() {
		s := newSource(r.Step, memo, private)
		s.Earlier, s.Gone = true, r.Gone
		list = append(list, s)
	}
	step := 0
	for st, memo := range c.Trace().LearntSteps() {
		s := newSource(st, memo, private)
		step++
		s.Step = step
		list = append(list, s)
	}
	return list
}

func newSource(s sentinel.Step, memo *sentinel.Memo, private func(sentinel.Step) bool) Source {
	read := memo.Keep(func() any {
		return newReading(s.Result, func() string { return sentinel.MeantText(s.Result) })
	}).(*reading)
	return Source{Skill: s.Skill, Private: private(s), Strange: s.Trust != skills.Trusted, read: read}
}

// mayCount reports whether anything of a result counts.
func (s Source) mayCount() bool { return s.Private || !s.read.secrets().hasNone() }

// inputOf adds what the call sends, and what earlier ones sent to the same destination.
func inputOf(c sentinel.Call, list []Source) Input {
	request, _ := c.Grant().Request()
	in := Input{Sources: list, Known: append([]string{request}, c.Grant().EarlierWords()...), Now: Sent{Domain: domainOf(c.Name()), Texts: textsOf(c)}}
	in.Now.To = destinationsOf(c.Name(), valuesOf(in.Now.Texts))
	for r := range c.Trace().PastResults() {
		if sent := sentBy(r.Step); sent.sharesDestination(in.Now) {
			in.Before = append(in.Before, sent)
		}
	}
	for s := range c.Trace().LearntSteps() {
		if sent := sentBy(s); sent.sharesDestination(in.Now) {
			in.Before = append(in.Before, sent)
		}
	}
	return in
}

func domainOf(skill string) string {
	domain, _, _ := strings.Cut(skill, ".")
	return domain
}

func valuesOf(texts []Text) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = t.Value
	}
	return out
}

// proseNames are of arguments that hold what somebody says, whatever its length.
var proseNames = wordSet(`body text message messages content comment comments note notes subject title description query q search question
	reason summary payload data reference memo`)

// maxReference is how long in bytes a text is at most that names something.
const maxReference = 64

// filesNames are of those that name a file or a document, in whatever domain.
var filesNames = wordSet("id ids uid uuid file files path attachment attachments document documents folder")

// textsOf lists the texts that a call sends. A secret argument is made for secrets, so it is
// left out.
func textsOf(c sentinel.Call) []Text {
	var out []Text
	var keys []string
	reached := map[string]bool{}
	for _, r := range c.Touch().Recipients {
		reached[r.Value] = true
	}
	c.Skill().Walk(c.Parsed(), func(a skills.Arg) {
		if a.Marks.Has(skills.Secret) {
			return
		}
		arg := topLevel(a.Pointer)
		if !c.Skill().Declares(arg) {
			arg = ""
		}
		if !a.Declared {
			keys = append(keys, a.Name)
		}
		t := Text{Arg: arg}
		switch v := a.Value.(type) {
		case string:
			t.Value = v
		case json.Number:
			t.Value, t.Target = v.String(), true
		default:
			return
		}
		short := !strings.ContainsAny(t.Value, " \n\t") && !strings.Contains(t.Value, "://")
		names := nameParts(a.Name)
		t.Target = t.Target || reached[t.Value] || a.Marks.Has(skills.Path) || short && a.Marks.Has(skills.Target) && !a.Marks.Has(skills.URL) &&
			c.Skill().Annotated() || short && hasAny(names, filesNames)
		t.Refers = a.Marks&(skills.Content|skills.URL) == 0 && len(t.Value) <= maxReference &&
			!strings.Contains(t.Value, "://") && !hasAny(names, proseNames)
		out = append(out, t)
	})
	if len(keys) > 0 {
		out = append(out, Text{Value: strings.Join(slices.Compact(keys), " ")})
	}
	return out
}

func topLevel(pointer string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
}

func nameParts(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !isPlain(r) })
}

func hasAny(words []string, in map[string]bool) bool {
	return slices.ContainsFunc(words, func(w string) bool { return in[w] })
}

// sentBy is what an earlier call sent, and where.
func sentBy(s sentinel.Step) Sent {
	var args any
	if len(s.Args) <= len("{}") || json.Unmarshal([]byte(s.Args), &args) != nil {
		return Sent{}
	}
	var texts []Text
	var list []string
	eachScalar(args, func(v string) {
		texts, list = append(texts, Text{Value: v}), append(list, v)
	})
	return Sent{Domain: domainOf(s.Skill), To: destinationsOf(s.Skill, list), Texts: texts}
}

func eachScalar(v any, fn func(string)) {
	switch v := v.(type) {
	case string:
		fn(v)
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			eachScalar(v[k], fn)
		}
	case []any:
		for _, e := range v {
			eachScalar(e, fn)
		}
	}
}

// destinationsOf lists where texts go: the domains of hosts and the mailboxes that they name,
// or the skill itself where they name none.
func destinationsOf(skill string, values []string) []string {
	var out []string
	for _, v := range values {
		for rest := v; ; {
			_, after, found := strings.Cut(rest, "://")
			if !found {
				break
			}
			host := after[:endOfHost(after)]
			if i := strings.LastIndexByte(host, '@'); i >= 0 {
				host = host[i+1:]
			}
			out, rest = addOnce(out, "host "+ownerOf(strings.ToLower(host))), after
		}
		if at := strings.IndexByte(v, '@'); at > 0 && !strings.ContainsAny(v, " \n/") {
			out = addOnce(out, "mailbox "+strings.ToLower(v))
		}
	}
	if len(out) == 0 {
		out = append(out, "skill "+skill)
	}
	return out
}

func endOfHost(s string) int {
	if i := strings.IndexAny(s, "/?#: \n\t\"'<>)"); i >= 0 {
		return i
	}
	return len(s)
}

// ownerOf is the part of a host's name that its owner has registered: its last two labels.
func ownerOf(host string) string {
	labels := strings.Split(strings.Trim(host, "."), ".")
	return strings.Join(labels[max(0, len(labels)-2):], ".")
}

// userNames are of arguments that say whose store is read.
var userNames = map[string]bool{"user": true, "user_id": true, "userid": true, "username": true, "owner": true, "owner_id": true,
	"on_behalf_of": true, "tenant": true, "tenant_id": true, "mailbox": true, "account_owner": true}

// userParts are in each of userNames.
var userParts = []string{"user", "owner", "behalf", "tenant", "mailbox"}

// isOfAnother reports whether a step read the store of another user: an argument names one
// that is neither the grant's nor in the user's words.
func isOfAnother(s sentinel.Step, g sentinel.Grant) bool {
	namesUser := func(part string) bool { return strings.Contains(s.Args, part) }
	if g.User() == "" || s.Effect != skills.Read || !slices.ContainsFunc(userParts, namesUser) {
		return false
	}
	var args map[string]any
	if json.Unmarshal([]byte(s.Args), &args) != nil {
		return false
	}
	request, _ := g.Request()
	request = sentinel.FoldText(request)
	for k, v := range args {
		name, ok := v.(string)
		name = strings.TrimPrefix(sentinel.FoldText(strings.TrimSpace(name)), "@")
		if !ok || name == "" || !userNames[k] || selfNames[name] || name == sentinel.FoldText(g.User()) {
			continue
		}
		if !strings.Contains(request, name) {
			return true
		}
	}
	return false
}

var selfNames = wordSet("me self myself current mine own default")
