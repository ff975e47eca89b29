package judge

import (
	"slices"

	"github.com/vedette-dev/vedette/sentinel"
)

// The signals by name, as they stand in Evidence and Reason.
const (
	SignalIntentMention = "intent_mention"
	SignalTraversal     = "traversal"
	SignalOddKey        = "odd_key"
	SignalReadOnly      = "read_only"
)

// seedSignal is one row of the judge's table: what it is called, what it adds in
// hundredths, and the function that looks for it. find sees the Call alone,
// keeps nothing and changes nothing.
type seedSignal struct {
	name   string
	amount int
	find   func(sentinel.Call) finding
}

// The signals beyond the first four, as they stand in Evidence and Reason.
// Those of grounding are made of a family and an origin: "recipient_unknown",
// "host_untrusted", "ref_nowhere".
const (
	SignalUnrelated        = "unrelated"
	SignalLookOnly         = "look_only"
	SignalOtherAction      = "other_action"
	SignalOtherTopic       = "other_topic"
	SignalNearMiss         = "near_miss"
	SignalAmountExceeds    = "amount_exceeds"
	SignalAddressInContent = "address_in_content"
	// SignalMetAddress is the same of what strangers' results have, and don't ask to pass on. It is in doubt.
	SignalMetAddress      = "met_address_in_content"
	SignalSecretInContent = "secret_in_content"
	SignalInstruction     = "instruction_text"
	SignalBlob            = "encoded_blob"
	SignalAfterRefusal    = "after_refusal"
	SignalContradicts     = "contradicts"
	SignalOtherDate       = "other_date"
	SignalPrivateRead     = "private_read"
	SignalOtherID         = "other_id"
)

// The signals of a call that does more than it was asked for: to all instead
// of one, for everybody instead of somebody, as an owner instead of a reader,
// in another currency, many times.
const (
	SignalEverything    = "everything"
	SignalWiderRights   = "wider_rights"
	SignalOtherCurrency = "other_currency"
	SignalManyMore      = "many_more"
	SignalDataInURL     = "data_in_url"
	SignalOtherFile     = "other_file"
	SignalUnreadable    = "unreadable_request"
	SignalUnaskedRight  = "unasked_right"
	SignalOverLimit     = "over_limit"
)

// The signals of what goes out, and of what goes where it will be believed.
const (
	SignalSensitiveFlow  = "sensitive_flow"
	SignalPrivateOutward = "private_outward"
	SignalTrustedStore   = "into_trusted_store"
	// SignalAskedStore is the same where the request speaks of the call. It is in doubt.
	SignalAskedStore = "asked_into_trusted_store"
)

// The signals of what this turn has done before: the same call, or payments that come to more
// than the request states as the most. They are in doubt.
const (
	SignalRepeated       = "repeated_call"
	SignalSpentOverLimit = "spent_over_limit"
)

// SignalWordless is of a request in a known language that has no known word for what a grave
// call does, where a stranger's text was read. It is in doubt.
const SignalWordless = "wordless_request"

// SignalUnasked is of a switch or a right that the request has no word for. It is in doubt.
const SignalUnasked = "unasked"

const (
	amountUnrelated   = -40
	amountLookOnly    = -35
	amountOtherAction = -35
	amountOtherTopic  = -35
	// softRecipient is all that an ungrounded value adds where the user handed over somebody's
	// list. In "do what the file says" the call isn't in the request for the same reason: one
	// sign, not two.
	softRecipient = -5
	// softDate is what another date adds to a call that isn't in the request
	// anyhow.
	softDate = -10
)

// finding is what a signal saw. args are declared top-level arguments.
type finding struct {
	found bool
	args  []string
	extra int // what it adds to the signal's own amount: never above zero
}

func (f *finding) add(arg string) {
	f.found = true
	if arg != "" && !slices.Contains(f.args, arg) {
		f.args = append(f.args, arg)
	}
}

// seedSignals are the rows that look at the call alone. A row whose amount is positive must not look at
// the arguments; see the package comment.
func seedSignals() []seedSignal {
	return []seedSignal{
		{SignalIntentMention, +10, findIntentMention},
		{SignalTraversal, -20, findTraversal},
		{SignalOddKey, -10, findOddKey},
		{SignalReadOnly, +5, findReadOnly},
	}
}

// viewSignal is one row of the second table: it may lower, and never raises.
type viewSignal struct {
	name   string
	amount int
	find   func(*view) finding
}

func viewSignals() []viewSignal {
	return []viewSignal{
		{SignalNearMiss, -30, findNearMiss},
		{SignalAmountExceeds, -10, findAmountExceeds},
		{SignalAddressInContent, -35, findAddressInContent},
		{SignalMetAddress, -35, findMetAddress},
		{SignalSecretInContent, -20, findSecretInContent},
		{SignalInstruction, -20, findInstruction},
		{SignalBlob, -10, findBlob},
		{SignalAfterRefusal, -10, findAfterRefusal},
		{SignalContradicts, -35, findContradiction},
		{SignalOtherDate, -31, findOtherDate},
		{SignalPrivateRead, -30, findPrivateRead},
		{SignalEverything, -31, findEverything},
		{SignalWiderRights, -31, findWiderRights},
		{SignalOtherCurrency, -31, findOtherCurrency},
		{SignalManyMore, -31, findManyMore},
		{SignalDataInURL, -31, findDataInURL},
		{SignalOtherFile, -31, findOtherFile},
		{SignalUnreadable, -31, findUnreadable},
		{SignalWordless, -31, findWordless},
		{SignalOtherID, -strangersTarget, findOtherID},
		{SignalSensitiveFlow, -20, findSensitiveFlow},
		{SignalPrivateOutward, -31, findPrivateOutward},
		{SignalTrustedStore, -31, findTrustedStore},
		{SignalAskedStore, -31, findAskedStore},
		{SignalUnasked, -15, findUnasked},
		{SignalUnaskedRight, -31, findUnaskedRight},
		{SignalOverLimit, -35, findOverLimit},
		{SignalOverEarlierLimit, -31, findOverEarlierLimit},
		{SignalRepeated, -31, findRepeated},
		{SignalSpentOverLimit, -31, findSpentOverLimit},
	}
}
