package telemetry

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// Words that stand where there is no word, or none that may be repeated.
const (
	none    = "none"
	other   = "other"
	unknown = "unknown"
)

// words is a closed list.
type words map[string]bool

func listOf[T ~string](lists ...[]T) words {
	w := words{}
	for _, l := range lists {
		for _, s := range l {
			w[string(s)] = true
		}
	}
	return w
}

// pick is the word itself where it is on the list. It is none for the empty word, and other
// for a word that isn't on the list. What it returns is never the caller's own text.
func (w words) pick(s string) string {
	switch {
	case s == "":
		return none
	case w[s]:
		return s
	}
	return other
}

// codes are those of gates, of proposals that became no call, and of people's
// answers. A test holds the list against the sources.
var codes = listOf(strings.Fields(`
	approval.canceled approval.changed approval.denied approval.edited approval.expired approval.no_answer
	approval.pending_full approval.superseded approval.unbindable
	checkpoint.no_gate
	guard.commit guard.destructive guard.dynamic guard.effect_exceeded guard.forbidden_path guard.irrecoverable
	guard.outside_roots guard.private_host guard.protected guard.sensitive_path guard.shell_in_argument
	guard.no_undo guard.operator guard.unconfined guard.unparsed_shell guard.unread
	judge.ask_below judge.below_threshold judge.doubt
	limits.agent_calls limits.agent_cost limits.agent_tokens limits.away limits.canceled
	limits.conversation_calls limits.conversation_cost limits.conversation_tokens limits.degraded limits.omitted limits.paused
	limits.revoked limits.skill_open limits.turn_agents limits.turn_calls limits.turn_cost limits.turn_tokens
	limits.user_cost limits.user_tokens
	modify.error modify.unstable
	parse.duplicate_key parse.edit parse.folded_key parse.no_skill parse.not_object parse.number parse.skill_name
	parse.suppressed parse.syntax parse.too_deep parse.too_large parse.too_many_keys
	permission.approval_always permission.ask permission.denied permission.disabled permission.no_executor
	permission.no_match permission.no_rules permission.rule_error permission.runs_here permission.unknown_skill
	review.degraded review.disagreement review.profile review.rejected review.shadow review.unavailable review.unjudgeable review.unsure
	schema.invalid
	scope.after_taint scope.empty scope.expired scope.extend_after_taint scope.invalid_skills scope.named_skills scope.not_granted
	scope.unknown_skill scope.wider_than_parent scope.withdrawn
	stream.arguments stream.cut stream.ending stream.incomplete stream.late stream.malformed stream.mismatch stream.no_name
	stream.stalled stream.too_large stream.too_many_calls stream.unchecked stream.unknown_shape stream.upstream`),
	[]string{"approval.nobody"}, listBrokenCodes())

// listBrokenCodes are the codes of gates that could not judge, which the checkpoint makes.
func listBrokenCodes() []string {
	var out []string
	for _, g := range sentinel.GateNames() {
		for _, how := range []string{"error", "missing", "no_answer", "panic"} {
			out = append(out, g+"."+how)
		}
	}
	return out
}

var (
	gates    = listOf(sentinel.GateNames(), []string{sentinel.GateParse})
	effects  = listOf(skills.Effects())
	failures = listOf(review.Failures())
	// kinds are what can go wrong with a question to a model.
	kinds = listOf([]llm.Kind{
		llm.KindConnect, llm.KindTimeout, llm.KindCanceled, llm.KindRateLimited, llm.KindServer, llm.KindAuth, llm.KindRequest,
		llm.KindNotJSON, llm.KindBadResponse, llm.KindTooLarge, llm.KindBudget,
	})
	profiles = listOf([]review.Profile{review.Strict, review.Balanced, review.Thrifty})
	modes    = listOf([]review.Mode{review.Enforce, review.ShadowMode})
	outcomes = listOf(strings.Fields("deny defer ask allow"))
	// origins say where a review's judgement came from, if not from a model.
	origins  = listOf(strings.Fields("cache shared ahead"))
	statuses = listOf([]string{sentinel.StatusOK, sentinel.StatusFailed, sentinel.StatusUnknown, sentinel.StatusForwarded})
	runCodes = listOf([]string{skills.FailFailed, skills.FailPanic, skills.FailTimeout, skills.FailCanceled,
		skills.FailNotStarted, skills.FailNotCommitted, "warrant", sentinel.CodeOutcomePaused, sentinel.CodeWithdrawn,
		sentinel.CodeUnreported, sentinel.CodeNotForwarded})
	records = listOf([]string{sentinel.RecordDecision, sentinel.RecordHeld, sentinel.RecordRefused, sentinel.RecordOutcome,
		sentinel.RecordShadow})
	breakers = listOf(strings.Fields("closed half-open open"))
	canaries = listOf([]review.Canary{review.CanaryPassed, review.CanaryFailed, review.CanaryUnanswered})
	refusals = listOf([]string{
		skills.KindDeny, skills.KindAskDenied, skills.KindAskExpired, skills.KindDefer, skills.KindBudget, skills.KindInvalid, skills.KindPaused,
	})
	agentStates = listOf(strings.Fields("completed failed timeout cancelled skipped"))
	causes      = listOf(strings.Fields("timeout connection"))
	// children are the processes of the tree by what they are, not by name: ids
	// of conversations and agents come from outside.
	children = listOf(strings.Fields("app store writer maintenance review model limits pauses door " +
		"metrics conversations conversation server agents agent orchestrator recovery"))
)

// childKind is what a process is.
func childKind(id string) string {
	for _, several := range []string{"model", "conversation", "agent"} {
		if strings.HasPrefix(id, several+"-") {
			return several
		}
	}
	return children.pick(id)
}

// named is a list of configured names; what isn't on it is unknown.
type named []string

func (n named) pick(s string) string {
	if _, ok := slices.BinarySearch(n, s); ok {
		return s
	}
	return unknown
}

func sortNames(list []string) named {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

func yesNo(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
