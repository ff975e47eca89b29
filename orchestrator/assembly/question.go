package assembly

import (
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// question puts what shapes the review's question and answer, and which calls
// it is asked about, into its options.
func question(o review.Options, s config.Sentinel) review.Options {
	o.Mode, o.Modes = review.Mode(s.Mode), modes(s.Modes)
	o.Prompt = s.PromptText
	o.Graded, o.RejectBelow = s.Answer == config.AnswerGraded, hundredths(s.RejectBelow)
	o.Keys, o.Reasoning, o.Trace = s.Arguments == config.ArgumentsKeys, s.Reasoning, s.Trace
	return o
}

func modes(m config.Modes) review.Modes {
	out := review.Modes{Effect: map[skills.Effect]review.Mode{}, Skill: map[string]review.Mode{}}
	for effect, mode := range m.Effect {
		out.Effect[skills.Effect(effect)] = review.Mode(mode)
	}
	for skill, mode := range m.Skill {
		out.Skill[skill] = review.Mode(mode)
	}
	return out
}

// reviews reports whether any call is to be reviewed.
func reviews(s config.Sentinel) bool {
	if s.Mode != config.Off {
		return true
	}
	for _, list := range []map[string]config.Mode{s.Modes.Effect, s.Modes.Skill} {
		for _, mode := range list {
			if mode != config.Off {
				return true
			}
		}
	}
	return false
}
