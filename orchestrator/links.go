package orchestrator

import "github.com/vedette-dev/vedette/orchestrator/answers"

// linkFilter makes links of tainted texts plain, but for those to allowed hosts and
// those of the request.
type linkFilter struct {
	allow   []string // hosts
	request string   // its text
}

// defangLinks makes links of a tainted text plain, as in the answer to the user. It
// returns how many it changed.
func (f linkFilter) defangLinks(tainted bool, text string) (string, int) {
	if !tainted {
		return text, 0
	}
	return answers.Defang(text, answers.Options{Allow: f.allow, Request: f.request})
}
