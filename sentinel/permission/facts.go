package permission

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"golang.org/x/text/unicode/norm"

	"github.com/vedette-dev/vedette/sentinel"
)

// variable is one name that a condition may use. get is called for each
// reference, so a condition pays only for what it reads.
type variable struct {
	name string
	kind *cel.Type
	get  func(f *facts) ref.Val
}

// listVariables returns every name but args, sorted by name. Dotted names are
// variables of their own and not fields of a map. So New finds a misspelt one,
// before a call comes.
func listVariables() []variable {
	list := cel.ListType(cel.StringType)
	return []variable{
		{"call.agent", cel.StringType, func(f *facts) ref.Val { return types.String(f.call.Grant().Agent()) }},
		{"call.commands", list, func(f *facts) ref.Val { return stringList(f.touchedCommands()) }},
		{"call.conversation", cel.StringType, func(f *facts) ref.Val { return types.String(f.call.Grant().Conversation()) }},
		{"call.digest", cel.StringType, func(f *facts) ref.Val { return types.String(f.call.Digest()) }},
		{"call.effect", cel.StringType, func(f *facts) ref.Val { return types.String(f.call.Effect()) }},
		{"call.flags", list, func(f *facts) ref.Val { return stringList(f.call.FlagCodes()) }},
		{"call.hosts", list, func(f *facts) ref.Val { return stringList(f.touchedHosts()) }},
		{"call.outward", cel.BoolType, func(f *facts) ref.Val { return types.Bool(f.call.Outward()) }},
		{"call.paths", list, func(f *facts) ref.Val { return stringList(f.touchedPaths()) }},
		{"call.reaches", cel.StringType, func(f *facts) ref.Val { return types.String(f.call.Skill().Reaches()) }},
		{"call.recipients", list, func(f *facts) ref.Val { return stringList(f.touchedRecipients()) }},
		{"call.skill", cel.StringType, func(f *facts) ref.Val { return types.String(f.call.Skill().Name()) }},
		{"call.tainted", cel.BoolType, func(f *facts) ref.Val { return types.Bool(f.call.Tainted()) }},
		{flowName, flowType, func(f *facts) ref.Val { return flowFacts{f.call} }},
		{"grant.agent", cel.StringType, func(f *facts) ref.Val { return types.String(f.call.Grant().Agent()) }},
		{"grant.mission_by", cel.StringType, func(f *facts) ref.Val { return types.String(f.call.Grant().MissionBy()) }},
		{"grant.scope", list, func(f *facts) ref.Val { return stringList(f.call.Grant().Scope().List()) }},
		{"grant.tainted", cel.BoolType, func(f *facts) ref.Val { return types.Bool(f.call.Grant().Tainted()) }},
		{"time", cel.TimestampType, func(f *facts) ref.Val { return types.Timestamp{Time: f.callTime()} }},
		{"user", cel.StringType, func(f *facts) ref.Val { return types.String(f.call.Grant().User()) }},
	}
}

// knownVariables is listVariables, made once: it never changes.
var knownVariables = listVariables()

// facts is one call as conditions see it. It lives for one Check and is used
// by one goroutine.
type facts struct {
	call sentinel.Call
	now  func() time.Time
	args ref.Val
	at   time.Time
}

// ResolveName returns a variable's value. It implements cel.Activation.
func (f *facts) ResolveName(name string) (any, bool) {
	if name == "args" {
		if f.args == nil {
			f.args = wrapArguments(f.call.Parsed())
		}
		return f.args, true
	}
	i, ok := slices.BinarySearchFunc(knownVariables, name, func(v variable, n string) int { return strings.Compare(v.name, n) })
	if !ok {
		return nil, false
	}
	return knownVariables[i].get(f), true
}

// Parent returns nil: there is nothing behind these names.
func (f *facts) Parent() cel.Activation { return nil }

// wrapArguments makes the call's values readable for conditions. The library reads
// a value when a condition reaches it. A json.Number becomes an int where it is
// one, else a double. So a large argument that no condition looks at costs
// nothing.
func wrapArguments(parsed map[string]any) ref.Val {
	if parsed == nil {
		parsed = map[string]any{}
	}
	return types.NewStringInterfaceMap(types.DefaultTypeAdapter, parsed)
}

// stringList wraps texts as a list of the conditions' language.
func stringList(list []string) ref.Val {
	return types.NewStringList(types.DefaultTypeAdapter, list)
}

// callTime returns one instant for all rules of a call. Two rules that split the
// day must not both miss it.
func (f *facts) callTime() time.Time {
	if f.at.IsZero() {
		f.at = f.now().UTC()
	}
	return f.at
}

// touchedPaths lists each path cleaned, and its real path where links lead
// elsewhere. A rule that looks for a folder must see both.
func (f *facts) touchedPaths() []string {
	var out []string
	for _, p := range f.call.Touch().Paths {
		out = append(out, p.Clean)
		if p.Real != "" && p.Real != p.Clean {
			out = append(out, p.Real)
		}
	}
	return out
}

// touchedCommands lists program names. What can't be known stands as an empty
// name, so that `call.commands.all(c, c in [...])` does not pass it.
func (f *facts) touchedCommands() []string {
	t := f.call.Touch()
	var out []string
	for _, c := range t.Commands {
		out = append(out, c.Name)
	}
	for range t.Unparsed {
		out = append(out, "")
	}
	return out
}

// touchedHosts lists the hosts that the call names.
func (f *facts) touchedHosts() []string {
	var out []string
	for _, h := range f.call.Touch().Hosts {
		out = append(out, h.Name)
	}
	return out
}

// touchedRecipients lists whom the call reaches, in the spelling of rules.
func (f *facts) touchedRecipients() []string {
	var out []string
	for _, r := range f.call.Touch().Recipients {
		out = append(out, plainAddress(r.Value))
	}
	return out
}

// plainAddress writes an address as rules write it: in small letters, narrow, and
// without invisible characters. Accounts and ids stay as they are, because the
// letters' case may tell two of them apart.
func plainAddress(s string) string {
	n := norm.NFKC.String(s)
	if !strings.ContainsRune(n, '@') {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Cf, unicode.Cc):
			return -1
		case r == '。':
			return '.'
		}
		return unicode.ToLower(r)
	}, n)
}
