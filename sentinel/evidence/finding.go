package evidence

import (
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// The signals of findings: a closed list, like the signals of the judge.
const (
	// SignalNear and a How name a near miss: "near_miss_swapped". They are hard.
	SignalNear = "near_miss"
	// SignalRival is a doubt: another record fits the request better than the recipient's own.
	SignalRival = "rival_fits_better"
)

// Finding is a near miss, or a doubt, without any value: it may stand in a record.
type Finding struct {
	// Signal is from the closed list that Signals returns.
	Signal string
	// Arg is the declared top-level argument; empty for one that no schema names.
	Arg string
	// How, Kind, Step and Skill say what a near miss is near to, and where that was seen.
	How   How
	Kind  Kind
	Step  int
	Skill string
	Trust Trust
}

// Signals returns every signal that a finding may have.
func Signals() []string {
	out := []string{SignalRival}
	for _, h := range Hows() {
		out = append(out, SignalNear+"_"+string(h))
	}
	return out
}

// MayFind reports whether the report of an input may have a finding or a doubt, or ask. It looks at
// the input's effect, request and arguments alone: a caller that needs no more spares itself Build.
func MayFind(effect skills.Effect, request string, arguments []Argument) bool {
	if effect == skills.Read {
		return false
	}
	var few [2]value // most arguments hold one
	own, count := "", 0
	for i := range arguments {
		list := appendValues(few[:0], &arguments[i], effect)
		if count += len(list); count > fewValues {
			return true
		}
		for j := range list {
			v := &list[j]
			switch {
			case v.kind == Path || v.named:
				continue
			case v.kind == Amount || v.kind == Count || v.kind == Date || v.kind == Account:
				return true
			case own == "":
				words, _ := SplitOwnWords(request)
				own = foldText(words)
			}
			if !holdsWhole(own, v.fold) && (v.kind != Reference || hasDigit(own)) {
				return true
			}
		}
	}
	return false
}

// fewValues is how many values have room in any question.
const fewValues = 8

// Findings returns the near misses of a call that isn't a read: hard signals. A near miss is no
// better than a value that was seen nowhere, so it never costs less.
func (r *Report) Findings() []Finding { return append([]Finding(nil), r.findings...) }

// Doubts returns what only a reader can tell.
func (r *Report) Doubts() []Finding { return append([]Finding(nil), r.doubts...) }

func newFinding(n *Named, m NearMiss) Finding {
	return Finding{Signal: SignalNear + "_" + string(m.How), Arg: n.Declared, How: m.How, Kind: n.Kind,
		Step: m.Place.Step, Skill: m.Place.Name, Trust: m.Place.Trust}
}

var howTexts = map[How]string{
	HowCheckDigits: "has check digits that are wrong", HowSwapped: "is one with two characters swapped",
	HowEdited: "differs in one or two characters from one", HowGroup: "differs in one group from one",
	HowEnds: "begins and ends like one", HowLookalike: "looks like one", HowSuffix: "has the name of one below another suffix",
	HowAffix: "is the name of one with a word added", HowInside: "has the domain of one inside of another",
	HowTens: "is one times a power of ten", HowSounds: "sounds like one", HowLimit: "is beyond the limit that the request states",
	HowOtherYear: "has another year than one", HowOtherMonth: "has another month than one",
	HowDaySwapped: "has day and month of one swapped",
}

// Detail says in one line what was found, in words, names of arguments and skills, and no value.
func (f Finding) Detail() string {
	arg := "an undeclared argument"
	if f.Arg != "" {
		arg = "argument " + f.Arg
	}
	if f.Signal == SignalRival {
		return "another record fits the request better than that of the " + f.Kind.String() + " in " + arg
	}
	out := "the " + f.Kind.String() + " in " + arg + " " + howTexts[f.How]
	switch {
	case f.How == HowCheckDigits || f.How == HowLimit:
	case f.Step != 0:
		out += " that " + placeName(f.Skill, f.Step) + " (" + f.Trust.String() + ") has"
	case f.Skill != "":
		out += " of the user's words"
	}
	return strings.TrimSpace(out)
}
