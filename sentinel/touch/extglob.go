package touch

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// extglob returns the readings of @(a|b) and its kin: each alternative where
// they are plain, otherwise whatever a pattern may match.
func extglob(p *syntax.ExtGlob) value {
	text := p.Pattern.Value
	list := strings.Split(text, "|")
	op := strings.TrimSuffix(p.Op.String(), "(")
	if op == "!" {
		return value{{{s: "!(" + text + ")", kind: litFrag}}} // nearly everything
	}
	if strings.ContainsAny(text, `(\`) || len(list) > maxAlts {
		return value{{{s: "*", kind: litFrag}}}
	}
	var out value
	for _, alt := range list {
		out = append(out, frags{{s: alt, kind: litFrag}})
	}
	if op == "?" || op == "*" {
		out = append(out, frags{{kind: litFrag}})
	}
	return out
}
