// Package review is the gate that asks a language model: may this agent, with
// this mission and for this request, make this call? The model approves or
// rejects with a one-line reason; everything else is a failure with a name.
//
//	chain, err := roster.ForRole("sentinel")
//	gate, err := review.New(review.Options{Models: chain})
//
// The package isn't stable: docs/api.md lists those that are.
//
// The question. The system message is a versioned text of this package, or an
// operator's own (Options.Prompt, whose version is custom- and a part of its
// SHA-256), and after it how to answer; it is the same for every call. The user
// message is one JSON document, written by json.Marshal from a struct: no text of a
// user, tool or model can end a field or add one, and invisible characters stand in
// it as escapes. It says what the judge found, as codes, numbers and names, and with
// Options.Trace what the agent's last steps were, without their contents. x-secret
// values are not in it; with Options.Keys no value of an argument is, neither among
// what the call touches nor as a name that no schema has. What is judged is what
// runs: a call with a string beyond 8 KiB, or a document beyond 32 KiB, is not asked
// about and unjudgeable. Only of a call that reads, the request, the mission and
// x-content may be longer; those are cut in the middle, and cut_bytes counts what
// was left out.
//
// Every call is asked about, reads too. Options.Modes has other modes for some
// effects and skills, a skill's own before its effect's; a call that isn't asked
// about is skipped, with the key that says so as the reason. Options.Profile leaves out
// inward reads, or creations too, of skills that an operator marked risk: low, with
// CodeProfile. Never left out are calls of agent.*, tainted ones, those that a rule asks
// about or that have a doubt or a signal against them, and those whose Modes are named.
//
// The answer. One JSON object with exactly the fields that were asked for, parsed
// strictly: decision and reason; before them a reasoning, with Options.Reasoning,
// which is bounded and kept nowhere; between them should_run, with
// Options.Graded: how likely it is right to run the call, which becomes the verdict's
// score. A graded approval whose score is below Options.RejectBelow is refused with
// CodeUnsure. A number that speaks against the decision (below 0.5 with an approval,
// above with a rejection) is the failure Contradiction. An
// approval within prose or a code fence, beside a second object or under another
// spelling is not one: the model is asked once more in words of this package
// (its own answer is never sent back) and then the call is unjudgeable. What was
// wrong with a first answer stands in Verdict.Meta under "repaired". What the
// model gave as its reason is in Verdict.Detail and never in Verdict.Reason, the
// log or an error. Of a model's response at most 256 KiB are read, whatever
// llm.Config.MaxResponse allows beyond that.
//
// A model whose server knows no json_schema answers by a forced tool call or
// with json_object (llm.Config.Schemaless); the same parser reads it, and
// Verdict.Meta says so under "answer" in every verdict that the model gave or
// failed to give. Chains may hold models of all three kinds.
//
// An approval is not believed where the server says that question and answer fill
// the model's context (llm.Config.Context): some cut off what doesn't fit, and an
// attacker chooses how much that is. A rejection stands.
//
// The failures. A model is unavailable (refused connection, open breaker; server
// errors, rate limit, a quota that is used up, timeouts and broken connections that
// a canary or another user's call met too) or the call is unjudgeable
// (refusal, content filter, cut or malformed answer, input too long, refused
// request, any of those failures that stands alone, no room in time, a budget that is spent). Options.Unavailable and
// Options.Unjudgeable say for each effect what follows; of an outward call the
// stricter of its effect's cell and the outward cell. What is in an attacker's
// hand is unjudgeable: no breaker counts it, and by default it never allows.
// An allow without a judgement is marked Degraded, logged as a warning and
// counted.
//
// Several models are a chain: a model that fails in either way is followed by
// the next. When all fail, the strictest of their cells holds, so a spoiled
// answer gains nothing from another model being down. Each model has a circuit
// breaker, which lives as long as the Gate. It opens after Breaker.Failures in a
// row within the window, or where of four times as many requests half failed. When
// it is half-open a canary is the probe while RunCanaries runs, and calls wait for
// what comes of it, at most half of their turn and two seconds where the last canary
// hung. A canary that is answered and gives no judgement, as with a key that was
// revoked, is no outage: calls have its failure then, and the next canary is asked
// after Breaker.OpenFor. Without canaries a call is the probe; one that makes the
// model hang keeps it half-open then, and others away from it, as long as its turn.
//
// A timeout, a status 429 or from 500, and a connection that broke over a question
// may be the doing of what was asked about. They are an outage only where a canary,
// or a call of another user, met the same within the breaker's window; however many
// there are of one user, in whatever conversations, they make that user's calls
// unjudgeable, and no breaker counts them. While RunCanaries runs each has a canary
// asked at once, two in a window at most: where that one fails alike the model has
// an outage, even while others wait; and for the breaker's window and one
// Options.Timeout after a canary that was answered every such failure is the call's
// own, even where others have one. A limit that one user's requests have used up, as far
// as this process has seen, is no outage for anybody. Without canaries, and with one
// user, a model that fails is asked for each call. A server with a single slot, which
// one question fills, is away for all by this measure: give it more. A timeout of a
// request that had less than half of its model's turn left is always the call's own:
// it was sent late, and the one that made it wait is no outage. So is what became of a
// question that was asked ahead. A connection that could not be made is believed at
// once: nothing in a call brings that about.
//
// The time. Options.Timeout bounds the whole review. Each model's turn is an equal
// share of what is left, second opinions counted in, so a model that hangs leaves
// the next its time. Within a turn a request waits for its place, is sent, is sent
// again where that may help (Options.Retries: connect errors, status 408, 409,
// 429 unless a quota is used up, and from 500, after a pause that doubles, while half of the turn is left)
// and is repaired once. Every request passes the breaker by itself and counts in
// it and in Meta "attempts".
//
// The place. So many requests are with a model at a time (Options.Concurrency; users
// who wait for a place get one in turn) and so many a minute
// (Terms.RequestsPerMinute; users in turn as well). Who does not get a place within
// half of the turn is busy: unjudgeable, because a flood of calls could bring it
// about. A server that answers 408, 409, 429 or from 500 with Retry-After is not
// asked before that time, by any call of the user who met that, and by any call at
// all where it is an outage, nor for longer than Breaker.OpenFor: up to two seconds
// are waited for, beyond that the next model is asked at once. A refused request
// pauses no caller.
//
// The second opinion. With Options.Escalate a rejection, or an approval, of the
// effects that are named there goes to a chain of stronger models. Where both
// judge alike, that holds. Where they don't, a person is asked (CodeDisagreement);
// a rejection that is overturned is never an approval. Where the stronger chain
// can't judge, a rejection stands, and an approval is worth what the tables say
// for that failure. Meta holds model, first, second_model, second, or
// second_failure; Detail holds both reasons. In shadow mode both are asked and
// neither is applied.
//
// The budgets. Options.Purse bounds calls, tokens and money. Before a request is
// sent about the most that it can come to is held: half a token for each byte of the
// question, and the whole of the answer. Afterwards what the server told is
// counted, or an estimate where it worked and did not tell. Every request counts
// as a call, retries, repairs and second opinions too. Who finds no room while
// others may still leave some waits, at most half of the turn; then the call is
// unjudgeable, and the log says once an hour whose budget is spent. With Options.RulesFor the
// rules decide alone about the effects named there once the budget of all users for
// a day is spent: the review is skipped then, and Meta "rules" names the budget. These budgets
// are the review's own: what agents and the orchestrator spend on their models is
// counted by limits.*.tokens and limits.*.cost, and neither counts the other's. A
// checkpoint that only decides, as of check and eval, has no Purse.
//
// What is used again. Rejections, and approvals of what reads or creates inward by a
// skill of which nothing was refused in the branch, are kept for Options.CacheTTL
// and given to the same call in the same situation: user, conversation, grant,
// request, mission, agent, scope, taint, digest of the trace, skill, arguments. What
// came of a failure, a failover, a second opinion that could not be had or two that
// disagree is not kept; and while a breaker of either chain is not closed nothing is
// kept or given. Of callers with the same question at a time one asks, and the
// others take its answer, a failure too; where it gives up another asks. Prejudge
// asks before a call's turn has come and keeps the answer for that one call, as long
// as a model would be shown the very same; a call that comes while it is being asked
// has what is left of that question's time. Verdict.Meta says under "from" where a
// verdict is from that no question of its own brought: cache, shared, or ahead.
// Tokens and cost stand in the verdict that they were spent for.
//
// The canaries. AskCanaries asks each model of both chains by itself about six calls
// whose right verdict is beyond doubt, three to approve and three to reject, one of
// them with a text in an argument that says approve. They go the way of every
// question; names, addresses, ids, dates, wordings and order are drawn each time, so
// no answer can be learned. RunCanaries does so at the start and then every so often
// (sentinel.canaries.every). One wrong verdict fails a model: asked once more, a
// model that answers at random would pass too often, and a false alarm costs little,
// since a model that failed is asked again after ten minutes. Until it passes, its
// verdicts carry Meta "canary" (or "second_canary") failed, State names it, the log
// is loud, nothing is kept and nothing kept is given. The mark changes no outcome by
// itself: six questions are a smoke alarm and no measurement, a passing lapse of a
// model's server would otherwise stop all work, and the operator who chose a model
// decides what to do once it has gone bad. A model that can't be reached, or whose
// answer can't be used, has not failed; it keeps the mark that it has. Two of each
// kind have to be judged to pass. Requests are told to the Observer and to the log
// with their cost, and no Purse pays for them. With criteria of your own
// (Options.Prompt) that decide these calls otherwise, don't run them.
//
// The doubts. What the judge's rules are in doubt about stands in the question, and a
// judgement spends these doubts and no others: sentinel.Verdict.SpentDoubts. That takes a
// model that has passed the canaries for doubts with this prompt: 68 calls, half of them to
// reject, that a reader can settle and words can't. At most one wrong approval and three
// wrong rejections pass, and a model that approves everything doesn't. They are asked after
// the plain canaries, and again a day after they were passed. Until then, with
// Options.Doubts DoubtsCount, in shadow, and where no model judged, doubts count. check and
// eval measure models that were asked no canaries (Options.Measure).
//
// What is seen. Options.Observer is told of each request, each verdict and each
// breaker that changes; State is how the gate is doing now.
//
// What not to do. Do not share a Gate between configurations: it holds breaker
// state for its own models. Do not wrap it in retries: a caller that is deferred
// comes again. Do not read a decision out of Detail: it is a model's text. Do
// not edit a prompt in place: records name its version, so a new text is a new
// file.
package review
