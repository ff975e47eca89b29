package flow

import "slices"

// Source is one result that came back before the call.
type Source struct {
	// Skill returned it, and Step is its place in what came back, from 1.
	Skill string
	Step  int
	// Private is set where all of it counts. Of other results secrets count alone.
	Private bool
	// Strange is set where strangers may have written it.
	Strange bool
	// Earlier is set where an earlier turn read it, and Gone where not all of it is known
	// any more.
	Earlier, Gone bool

	read *reading
}

// NewSource returns a Source of a result's text as it came, and as its values are meant: of
// JSON the scalars and keys, a line each.
func NewSource(skill string, raw, meant string) Source {
	return Source{Skill: skill, read: newReading(raw, func() string { return meant })}
}

// Text is one text that goes out.
type Text struct {
	// Arg is the argument that it stands in.
	Arg   string
	Value string
	// Target says that it only says whom the call is for: secrets count in it alone.
	Target bool
	// Refers says that it may name a thing of the skill's own domain, and isn't what somebody
	// says.
	Refers bool
}

// Sent is what one call sends, and where: hosts, mailboxes, or the skill itself.
type Sent struct {
	Domain string // the first part of the skill's name
	To     []string
	Texts  []Text
}

// Input is what Find compares.
type Input struct {
	Sources []Source
	// Known are texts that aren't private, the user's words first: what stands in them
	// counts nowhere.
	Known []string
	Now   Sent
	// Before are earlier calls, the oldest first. Those to other
	// destinations are left out.
	Before []Sent
}

// Kind says what of a result a call carries.
type Kind string

// The kinds.
const (
	Secret  Kind = "secret"
	Value   Kind = "value"
	Figures Kind = "figures"
	Words   Kind = "words"
)

// Found is one thing that a call carries. It holds no value.
type Found struct {
	Kind  Kind
	Skill string
	Step  int
	// Arg is the argument that carries it.
	Arg string
	// Disguised says that it is encoded, backwards or spelled.
	Disguised bool
	// United says that earlier calls to the same destination carried the rest.
	United bool

	source int // its place in the Input
}

// Report is what Find found.
type Report struct {
	// Leaves says that the call leaves the process. Where it doesn't, nothing is looked for.
	Leaves bool
	Found  []Found
	// Private and Strange are the skills whose private and strangers' results the agent has
	// read in this turn, each once.
	Private, Strange []string
	// Secretive are those of Private whose result has something shaped or labelled as a secret.
	Secretive []string
	// Unread says that something was too long to be compared to the end: the call, a private
	// result, or one that has secrets; or that a private result of an earlier turn isn't known
	// any more.
	Unread bool
}

// Bounds in bytes, and of lists.
const (
	maxBody    = 1 << 20   // of one result
	maxBodies  = 4 << 20   // of all results
	maxOut     = 1 << 20   // of all ways to read what goes out
	maxBefore  = 512 << 10 // of the same for earlier calls
	maxReads   = 2 << 20   // that are unescaped and decoded, of each
	maxSecrets = 8 << 10   // secrets of one result
	maxFound   = 16
)

// Describe says what was found, a line each: arguments and skills by name, and no value.
func (r Report) Describe() []string {
	var out []string
	for _, f := range r.Found {
		arg := f.Arg
		if arg == "" {
			arg = "an undeclared argument"
		}
		line := arg + " carries " + kindWords[f.Kind] + " that " + f.Skill + " returned"
		if f.Disguised {
			line += ", disguised"
		}
		if f.United {
			line += ", together with earlier calls"
		}
		out = addOnce(out, line)
	}
	if r.Unread {
		out = append(out, "results or arguments are too long to be compared to the end")
	}
	return out
}

var kindWords = map[Kind]string{Secret: "a secret", Value: "a value", Figures: "figures", Words: "words"}

func (s Sent) sharesDestination(other Sent) bool {
	return slices.ContainsFunc(s.To, func(to string) bool { return slices.Contains(other.To, to) })
}

func addOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
