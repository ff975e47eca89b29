package permission

import (
	"strings"

	"github.com/vedette-dev/vedette/internal/textcut"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// tally collects what the rules say of one call. The outcome only falls; the
// first that made it fall so far names the code and the reason.
type tally struct {
	outcome  sentinel.Outcome
	code     string
	reason   string
	matched  int
	evidence []sentinel.Evidence
	detail   []string
}

// lower lets the outcome fall, and keeps the code and the reason of the first
// lowest one.
func (t *tally) lower(to sentinel.Outcome, code, reason string) {
	if to < t.outcome {
		t.outcome, t.code, t.reason = to, code, reason
	}
}

// note keeps evidence for the record.
func (t *tally) note(signal string, args []string) {
	t.evidence = append(t.evidence, sentinel.Evidence{Signal: signal, Args: args})
}

// countMatch counts a rule that fits, and lowers the outcome to what the rule
// says.
func (t *tally) countMatch(r *rule, s *skills.Skill) {
	t.matched++
	t.note(r.signal, r.declaredArgs(s))
	switch r.then {
	case sentinel.Deny:
		t.lower(sentinel.Deny, CodeDenied, r.reason)
	case sentinel.Ask:
		t.lower(sentinel.Ask, CodeAsk, r.reason)
	}
}

// maxDetail bounds the text of errors in bytes.
const maxDetail = 4 << 10

// countError counts a rule that could not be evaluated. The library's words may
// quote arguments, so they go to the detail alone.
func (t *tally) countError(r *rule, s *skills.Skill, err error) {
	t.note(r.signal+" error", r.declaredArgs(s))
	t.lower(sentinel.Deny, CodeRuleError, r.signal+" could not be evaluated")
	text := textcut.Head(err.Error(), maxDetail)
	t.detail = append(t.detail, r.signal+": "+text)
}

// buildVerdict returns the verdict of all that was counted.
func (t *tally) buildVerdict() sentinel.Verdict {
	v := sentinel.Verdict{
		State: sentinel.Judged, Outcome: t.outcome, Code: t.code, Reason: t.reason, Evidence: t.evidence,
		Detail: strings.Join(t.detail, "\n"),
	}
	switch t.code {
	case CodeDisabled:
		v.WhatYouCanDo = "use another skill; this one is switched off for everyone"
	case CodeRuleError:
		v.WhatYouCanDo = "send every argument that the skill describes, in its declared type; if that does " +
			"not help, tell the operator which rule fails"
	case CodeDenied, CodeNoMatch:
		v.WhatYouCanDo = "don't repeat the call; choose another way that the rules allow"
	case CodeAsk, CodeApprovalAlways:
		v.WhatYouCanDo = "wait for a person to decide"
	}
	return v
}
