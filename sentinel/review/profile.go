package review

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Profile says which calls need no model. A call that a profile leaves out is skipped with
// CodeProfile, after the rules have allowed it.
type Profile string

// The profiles. Empty means Strict.
const (
	// Strict asks about every call.
	Strict Profile = "strict"
	// Balanced leaves out inward reads of skills that an operator marked risk: low.
	Balanced Profile = "balanced"
	// Thrifty leaves out inward creations of such skills too.
	Thrifty Profile = "thrifty"
)

// CodeProfile is of a call that the profile left out.
const CodeProfile = "review.profile"

func (p Profile) checkProfile() error {
	switch p {
	case "", Strict, Balanced, Thrifty:
		return nil
	}
	return &skills.PathError{Path: "sentinel.profile", Msg: fmt.Sprintf("%q is not one of strict, balanced, thrifty", string(p))}
}

// hasOwnMode reports whether Modes names the call's skill or effect. The operator has spoken
// of such calls, so no profile leaves them out.
func (m Modes) hasOwnMode(s *skills.Skill) bool {
	_, bySkill := m.Skill[s.Name()]
	_, byEffect := m.Effect[s.Effect()]
	return bySkill || byEffect
}

// skipVerdict is the verdict on a call that the profile leaves out; ok is false for one that a
// model is asked about.
func (p Profile) skipVerdict(c sentinel.Call, modes Modes) (v sentinel.Verdict, ok bool) {
	if !p.leavesOut(c.Effect()) || modes.hasOwnMode(c.Skill()) || !isPlainCall(c) || !isLowRisk(c) || !namesLittle(c) {
		return sentinel.Verdict{}, false
	}
	return sentinel.Verdict{
		Gate: sentinel.GateReview, State: sentinel.Skipped, Code: CodeProfile,
		Reason: "skipped by profile: sentinel.profile is " + string(p) + ", and the skill is marked risk: low",
		Meta:   map[string]string{"profile": string(p)},
	}, true
}

// leavesOut reports whether the profile leaves out any call of an effect.
func (p Profile) leavesOut(e skills.Effect) bool {
	switch p {
	case Balanced:
		return e == skills.Read
	case Thrifty:
		return e == skills.Read || e == skills.Create
	case Strict:
	}
	return false
}

// isPlainCall reports whether nothing speaks against a call and no stranger had a hand in it.
// Without a judge or a request that can't be told.
func isPlainCall(c sentinel.Call) bool {
	_, hasRequest := c.Grant().Request()
	_, follows := c.Follows()
	if !hasRequest || follows || c.Tainted() || c.Grant().MissionTainted() || len(c.Flags()) > 0 || strings.HasPrefix(c.Name(), "agent.") {
		return false
	}
	f, judged := c.Findings()
	against := func(e sentinel.Evidence) bool { return e.Doubt || e.Amount < 0 }
	return judged && !f.Held && f.Outcome == sentinel.Allow && !slices.ContainsFunc(f.Signals, against)
}

// isLowRisk reports whether the operator marked the skill risk: low, and the call stays inside
// and gives nothing private.
func isLowRisk(c sentinel.Call) bool {
	s, t := c.Skill(), c.Touch()
	return s.Risk() == skills.LowRisk && !s.Sensitive() && s.Reaches() == skills.Self && !c.Outward() &&
		len(t.Hosts) == 0 && len(t.Commands) == 0 && describeFlow(c) == nil
}

// Bounds of a call that names little.
const (
	maxLittleArgs = 24  // scalars
	maxPage       = 100 // entries asked for
)

// namesLittle reports whether a call names no wildcard, no other user and no export.
func namesLittle(c sentinel.Call) bool {
	if hasPart(c.Name(), exportNames) {
		return false
	}
	n, little := 0, true
	c.Skill().Walk(c.Parsed(), func(a skills.Arg) {
		n++
		little = little && n <= maxLittleArgs && a.Declared && !isWildcard(a) && !isExport(a) && !namesAnother(a, c.Grant().User())
	})
	return little
}

// isWildcard reports whether an argument asks for whatever there is: a pattern, a word for
// all, an empty filter, or more entries than a page has.
func isWildcard(a skills.Arg) bool {
	switch v := a.Value.(type) {
	case nil:
		return true
	case bool:
		return v && hasPart(a.Name, allNames)
	case json.Number:
		return hasPart(a.Name, pageNames) && isBeyondPage(v)
	case string:
		word := sentinel.FoldText(strings.TrimSpace(v))
		prose := a.Marks.Has(skills.Content) && strings.Contains(word, " ")
		switch {
		case word == "" || allWords[word] || strings.Trim(word, "./~\\") == "":
			return true
		case hasPart(a.Name, pageNames) && strings.ContainsAny(word, "0123456789") && isBeyondPage(json.Number(word)):
			return true
		}
		return !prose && (strings.ContainsAny(word, "*%?[{^$|") || selectsAll.MatchString(word))
	}
	return true
}

// selectsAll are conditions that hold of everything, as in "id > 0" or "1=1".
var selectsAll = regexp.MustCompile(`\bor\b.*=|\b(\d+)\s*=\s*\d+\b|[<>]`)

func isBeyondPage(n json.Number) bool {
	f, err := n.Float64()
	return err != nil || f > maxPage || f <= 0
}

// isExport reports whether an argument says that what is there is to be taken out in bulk.
func isExport(a skills.Arg) bool {
	s, _ := a.Text()
	return hasPart(a.Name, exportNames) || len(s) <= maxWord && !strings.Contains(s, " ") && hasPart(s, exportNames)
}

// maxWord is how long in bytes a text is at most that is one word.
const maxWord = 64

// namesAnother reports whether an argument may name another user than the call's own.
func namesAnother(a skills.Arg, user string) bool {
	s, isText := a.Text()
	if n, ok := a.Value.(json.Number); ok {
		s, isText = n.String(), true
	}
	own := sentinel.FoldText(user)
	word := strings.TrimPrefix(sentinel.FoldText(strings.TrimSpace(s)), "@")
	switch {
	case !isText || word == own && own != "" || selfWords[word]:
		return false
	case hasPart(a.Name, userNames):
		return true
	}
	whose := userRef.FindStringSubmatch(word)
	return whose != nil && (own == "" || whose[1] != own) && !selfWords[whose[1]]
}

// userRef is a text that names a user within it: "users/42", "user:bob", "/home/bob/x".
var userRef = regexp.MustCompile(`\b(?:users?|owners?|tenants?|accounts?|home|mailbox(?:es)?)[:/=]+([^/?&#\s]+)`)

// hasPart reports whether any part of a name is on the list: "exportAll" has "export".
func hasPart(name string, list map[string]bool) bool {
	for _, part := range splitParts(name) {
		if list[part] || list[strings.TrimSuffix(part, "s")] {
			return true
		}
	}
	return false
}

// splitParts splits a name at its marks and at its humps, in lower case.
func splitParts(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(r)
	}
	return strings.FieldsFunc(sentinel.FoldText(b.String()), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func listWords(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// The words that keep a call in the review.
var (
	exportNames = listWords("export dump backup archive snapshot bulk download extract migrate mirror replicate sync takeout")
	allNames    = listWords("all every everything everyone recursive deep full unlimited include includes cascade")
	allWords    = listWords("all any every everything everyone everybody alles alle todo todos tout tous tutti null none true")
	pageNames   = listWords("limit max count size top take first last page rows results number total per n days")
	userNames   = listWords("user users userid username uid owner ownerid tenant tenantid mailbox behalf account accountid member " +
		"person employee profile customer client patient login impersonate")
	selfWords = listWords("me self myself mine own current")
)
