package approval

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/vedette-dev/vedette/internal/runes"
	"github.com/vedette-dev/vedette/internal/userglob"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Rule says who may answer questions about some calls. A call that several rules match is held
// to all of them.
type Rule struct {
	// Skill is a skill's name, a domain such as "email.*", or "*"; empty is every skill.
	Skill string
	// Effect is one effect; empty is every effect.
	Effect skills.Effect
	// Users are patterns of the requesters' ids; none is every requester.
	Users []string
	// Approvers are the names of those who may answer; none is everybody who is authenticated.
	Approvers []string
	// Min is how many people must say yes; zero is one.
	Min int
	// ExcludeRequester keeps the user on whose behalf the call is made from answering, and the person behind
	// the program that proposed it in that user's name.
	ExcludeRequester bool
}

// LocalPrefix begins the names of people whom the operating system authenticated: local:ann.
const LocalPrefix = "local:"

// Policy is the rules of who may answer. It is immutable; its zero value lets everybody who is
// authenticated answer, and one yes is enough.
type Policy struct{ rules []policyRule }

type policyRule struct {
	Rule
	path  string
	skill func(string) bool
	users []userglob.Glob
}

// NewPolicy reads rules. The error joins a *skills.PathError for each mistake, with its place
// below approvals.who.
func NewPolicy(rules []Rule) (*Policy, error) {
	p := &Policy{}
	var errs []error
	for i, r := range rules {
		read := policyRule{Rule: r, path: fmt.Sprintf("approvals.who[%d]", i), skill: func(string) bool { return true }}
		refuse := func(key, msg string) {
			errs = append(errs, &skills.PathError{Path: read.path + key, Msg: msg})
		}
		if r.Skill != "" && r.Skill != "*" {
			sc, err := skills.NewScope(r.Skill)
			if err != nil {
				refuse(".skill", "must be a skill's name such as email.send, a domain such as email.*, or *")
			}
			read.skill = sc.Allows
		}
		for j, u := range r.Users {
			g, mistake := userglob.Parse(u)
			if mistake != "" {
				refuse(fmt.Sprintf(".users[%d]", j), mistake)
			}
			read.users = append(read.users, g)
		}
		if n := countPersons(r.Approvers); n > 0 && r.Min > n {
			refuse(".min", fmt.Sprintf("is %d and approvers names %d, so no call could ever be approved", r.Min, n))
		}
		p.rules = append(p.rules, read)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return p, nil
}

// requirement is what the rules say of one call.
type requirement struct {
	needed   int
	among    []string // who may answer; nil is everybody who is authenticated
	bounded  bool     // among counts
	excludes bool     // the requesters may not
	excluded []string // their keys, see personKey; none where the user has no name
	rules    []string // the rules that match
}

// subject is what rules of who may answer look at: a skill and its effect. A call that commits
// what another wrote has two.
type subject struct {
	skill  string
	effect skills.Effect
}

// requesters are the user on whose behalf a call is made, and who proposed it elsewhere; the second is
// empty for a call of this program.
type requesters struct{ user, proposer string }

// keys are the keys of the requesters. Without a user there are none.
func (r requesters) keys() []string {
	if personKey(r.user) == "" {
		return nil
	}
	out := []string{personKey(r.user)}
	if by := personKey(r.proposer); by != "" {
		out = append(out, by)
	}
	return out
}

// require returns what all rules say together of a call of the subjects for the requesters.
func (p *Policy) require(by requesters, subjects ...subject) requirement {
	out := requirement{needed: 1}
	if p == nil {
		return out
	}
	for _, r := range p.rules {
		if !slices.ContainsFunc(subjects, func(s subject) bool { return r.matchesCall(s.skill, s.effect, by.user) }) {
			continue
		}
		out.rules = append(out.rules, r.path)
		out.needed = max(out.needed, r.Min)
		if r.ExcludeRequester {
			out.excludes, out.excluded = true, by.keys()
		}
		switch {
		case len(r.Approvers) == 0:
		case !out.bounded:
			out.among, out.bounded = slices.Clone(r.Approvers), true
		default:
			out.among = slices.DeleteFunc(out.among, func(by string) bool { return !slices.Contains(r.Approvers, by) })
		}
	}
	return out
}

func (r policyRule) matchesCall(skill string, effect skills.Effect, user string) bool {
	return r.skill(skill) && (r.Effect == "" || r.Effect == effect) &&
		(len(r.users) == 0 || slices.ContainsFunc(r.users, func(g userglob.Glob) bool { return g.Matches(user) }))
}

// personKey is the same for all names of one person: with and without LocalPrefix, in any case of
// letters, any form of Unicode, with and without characters that people don't see.
func personKey(name string) string {
	seen := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || runes.IsInvisible(r) {
			return -1
		}
		return r
	}, name)
	key := norm.NFKC.String(cases.Fold().String(norm.NFKC.String(seen)))
	for strings.HasPrefix(key, LocalPrefix) {
		key = key[len(LocalPrefix):]
	}
	return key
}

// countPersons counts the people behind names.
func countPersons(names []string) int {
	people := map[string]bool{}
	for _, n := range names {
		people[personKey(n)] = true
	}
	return len(people)
}

// allows reports whether the person may answer. Of a requester without a name each person could be
// the one, so none may.
func (r requirement) allows(by string) bool {
	if r.excludes && (len(r.excluded) == 0 || slices.Contains(r.excluded, personKey(by))) {
		return false
	}
	return !r.bounded || slices.Contains(r.among, by)
}

// refuseUnmeetable is sentinel.ErrNoApprover where too few people may answer for a yes to be possible.
func (r requirement) refuseUnmeetable() error {
	if r.isMeetable() {
		return nil
	}
	return fmt.Errorf("%w: %s let no person approve it", sentinel.ErrNoApprover, strings.Join(r.rules, ", "))
}

// isMeetable reports whether enough people may answer for a yes to be possible at all.
func (r requirement) isMeetable() bool {
	if r.excludes && len(r.excluded) == 0 {
		return false
	}
	if !r.bounded {
		return true
	}
	return countPersons(slices.DeleteFunc(slices.Clone(r.among), func(by string) bool { return !r.allows(by) })) >= r.needed
}
