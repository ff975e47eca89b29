package orchestrator

import "github.com/vedette-dev/vedette/orchestrator/assembly"

// linkFilter makes links of tainted texts plain, but for those to allowed hosts and
// those of the request.
type linkFilter struct {
	parts   *assembly.Parts // Links knows the allowed hosts
	request string          // its text
}

// defangLinks makes links of a tainted text plain, as in the answer to the user. It
// returns how many it changed.
func (f linkFilter) defangLinks(tainted bool, text string) (string, int) {
	if !tainted {
		return text, 0
	}
	return f.parts.Links.Defang(text, f.request)
}
