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
	said := append([]string{request}, c.Grant().EarlierWords()...)
	in := Input{Sources: list, Known: said, Now: Sent{Domain: domainOf(c.Name()), Texts: textsOf(c)}}
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

// keyUnescapes undoes the escapes of a JSON pointer.
var keyUnescapes = strings.NewReplacer("~1", "/", "~0", "~")

func topLevel(pointer string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	if strings.IndexByte(name, '~') < 0 {
		return name
	}
	return keyUnescapes.Replace(name)
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
	if len(s.Args) <= len("{}") || decodeNumbers(s.Args, &args) != nil {
		return Sent{}
	}
	var texts []Text
	var list []string
	eachText(args, func(v string) {
		texts, list = append(texts, Text{Value: v}), append(list, v)
	})
	return Sent{Domain: domainOf(s.Skill), To: destinationsOf(s.Skill, list), Texts: texts}
}

// decodeNumbers reads JSON, and numbers as they are written.
func decodeNumbers(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// eachText calls fn for each string, number and key.
func eachText(v any, fn func(string)) {
	switch v := v.(type) {
	case string:
		fn(v)
	case json.Number:
		fn(v.String())
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			fn(k)
			eachText(v[k], fn)
		}
	case []any:
		for _, e := range v {
			eachText(e, fn)
		}
	}
}

// destinationsOf lists where texts go: the skill itself, and the domains of the hosts and
// mailboxes that they name. A domain may have any number of mailboxes, and a text of a search may
// name any host.
func destinationsOf(skill string, values []string) []string {
	out := []string{"skill " + skill}
	for _, v := range values {
		for rest := v; ; {
			_, after, found := strings.Cut(rest, "://")
			if !found || len(out) >= maxDestinations {
				break
			}
			host := after[:endOfHost(after)]
			if i := strings.LastIndexByte(host, '@'); i >= 0 {
				host = host[i+1:]
			}
			out, rest = addOnce(out, "host "+ownerOf(strings.ToLower(host))), after
		}
		for w := range strings.FieldsFuncSeq(v, isAfterMailbox) {
			if at := strings.LastIndexByte(w, '@'); at > 0 && at+1 < len(w) && len(out) < maxDestinations {
				out = addOnce(out, "mailbox "+ownerOf(strings.ToLower(w[at+1:])))
			}
		}
	}
	return out
}

// maxDestinations bounds the destinations of one call. Calls of one skill share that.
const maxDestinations = 64

func isAfterMailbox(r rune) bool { return strings.ContainsRune(" \t\r\n/<>,;:\"'()?&=", r) }

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

// userWords are in the names of arguments that say whose store is read: "user_id", "accountOwner".
var userWords = wordSet("user users userid username owner owners behalf tenant tenants mailbox mailboxes")

// nameWords are the names of what names a user within such an argument.
var nameWords = wordSet("id ids name names email login handle uid")

// userParts are in each of userWords.
var userParts = []string{"user", "owner", "behalf", "tenant", "mailbox"}

// isOfAnother reports whether a step read the store of another user: an argument names one
// that is neither the grant's nor in the user's words.
func isOfAnother(s sentinel.Step, g sentinel.Grant) bool {
	low := strings.ToLower(s.Args)
	namesUser := func(part string) bool { return strings.Contains(low, part) }
	if g.User() == "" || s.Effect != skills.Read || !slices.ContainsFunc(userParts, namesUser) {
		return false
	}
	var args any
	if decodeNumbers(s.Args, &args) != nil {
		return false
	}
	own := map[string]bool{}
	for _, words := range append([]string{g.OwnRequest()}, g.EarlierWords()...) {
		eachWord(sentinel.FoldText(words), func(w string) { own[w] = true })
	}
	return namesAnother(args, false, func(name string) bool {
		name = strings.TrimPrefix(sentinel.FoldText(strings.TrimSpace(name)), "@")
		return name == "" || selfNames[name] || name == sentinel.FoldText(g.User()) || isSaid(name, own)
	})
}

// namesAnother reports whether a value names a user that isn't known. named says that it stands in
// an argument that says whose store is read.
func namesAnother(v any, named bool, isKnown func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return named && !isKnown(v)
	case json.Number:
		return named && !isKnown(v.String())
	case map[string]any:
		for k, e := range v {
			if namesAnother(e, hasAny(splitHumps(k), userWords) || named && hasAny(splitHumps(k), nameWords), isKnown) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return namesAnother(e, named, isKnown) })
	}
	return false
}

// isSaid reports whether all words of a name are among the words that somebody said.
func isSaid(name string, own map[string]bool) bool {
	said := false
	missing := false
	eachWord(name, func(w string) { said, missing = true, missing || !own[w] })
	return said && !missing
}

// splitHumps splits a name into its words: "userId" and "user_id" have the same.
func splitHumps(name string) []string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' && i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return nameParts(b.String())
}

var selfNames = wordSet("me self myself current mine own default")
