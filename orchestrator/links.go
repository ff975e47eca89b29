package orchestrator

import "github.com/vedette-dev/vedette/orchestrator/assembly"

// linkFilter makes links of tainted texts plain, but for those to allowed hosts and
// those of the request.
type linkFilter struct {
	parts   *assembly.Parts // Links knows the allowed hosts
	request string          // its text
}

// flowOf returns what makes a flow that does to pieces of a text what defangLinks does to
// the whole, nil where that does nothing.
func (f linkFilter) flowOf(tainted bool) func() textFlow {
	if !tainted {
		return nil
	}
	return func() textFlow { return f.parts.Links.Flow(f.request) }
}

// defangLinks makes links of a tainted text plain, as in the answer to the user. It
// returns how many it changed.
func (f linkFilter) defangLinks(tainted bool, text string) (string, int) {
	if !tainted {
		return text, 0
	}
	return f.parts.Links.Defang(text, f.request)
}
