package judge

import "github.com/vedette-dev/vedette/sentinel"

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
	SignalSecretInContent  = "secret_in_content"
	SignalInstruction      = "instruction_text"
	SignalBlob             = "encoded_blob"
	SignalFirstUse         = "first_use"
	SignalAfterRefusal     = "after_refusal"
	SignalDrift            = "drift"
	SignalContradicts      = "contradicts"
	SignalOtherDate        = "other_date"
	SignalPrivateRead      = "private_read"
)

const (
	amountUnrelated   = -40
	amountLookOnly    = -35
	amountOtherAction = -35
	amountOtherTopic  = -35
	// softRecipient is all that an ungrounded value adds where the user
	// handed over a list of somebody's ("do what the file says") and the
	// call isn't in the request for the same reason: one sign, not two.
	softRecipient = -5
)

// deepSignal is one row of the second table: it may lower, and never raises.
type deepSignal struct {
	name   string
	amount int
	look   func(*view) finding
}

func deepTable() []deepSignal {
	return []deepSignal{
		{SignalNearMiss, -30, nearMiss},
		{SignalAmountExceeds, -10, amountExceeds},
		{SignalAddressInContent, -35, addressInContent},
		{SignalSecretInContent, -20, secretInContent},
		{SignalInstruction, -20, instructionText},
		{SignalBlob, -10, encodedBlob},
		{SignalFirstUse, -5, firstUse},
		{SignalAfterRefusal, -10, afterRefusal},
		{SignalDrift, -10, drift},
		{SignalContradicts, -35, contradicts},
		{SignalOtherDate, -31, otherDate},
		{SignalPrivateRead, -30, privateRead},
	}
}

func (g *Gate) deep(v *view) []sentinel.Evidence {
	var out []sentinel.Evidence
	rel, related := v.relation()
	if related {
		out = append(out, rel)
	}
	for _, e := range v.grounding() {
		if related && v.request.delegates {
			e.Amount = max(e.Amount, softRecipient)
		}
		out = append(out, e)
	}
	for _, s := range g.more {
		if f := s.look(v); f.found {
			out = append(out, sentinel.Evidence{Signal: s.name, Amount: s.amount + f.more, Args: f.args})
		}
	}
	return out
}
