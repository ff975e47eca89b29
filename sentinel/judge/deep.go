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
	SignalOtherID          = "other_id"
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
	// softDate is what another date adds to a call that isn't in the request
	// anyhow.
	softDate = -10
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
		{SignalEverything, -31, everything},
		{SignalWiderRights, -31, widerRights},
		{SignalOtherCurrency, -31, otherCurrency},
		{SignalManyMore, -31, manyMore},
		{SignalDataInURL, -31, dataInURL},
		{SignalOtherFile, -31, otherFile},
		{SignalUnreadable, -31, unreadable},
		{SignalOtherID, -strangersTarget, otherID},
	}
}

func (g *Gate) deep(v *view) []sentinel.Evidence {
	var out []sentinel.Evidence
	rel, related := v.relation()
	v.related = related
	if related {
		out = append(out, rel)
	}
	out = append(out, v.grounding()...)
	if related && v.request.delegates {
		out = soften(out)
	}
	for _, s := range g.more {
		if f := s.look(v); f.found {
			n := s.amount + f.more
			if related && s.name == SignalOtherDate {
				n = max(n, softDate)
			}
			out = append(out, sentinel.Evidence{Signal: s.name, Amount: n, Args: f.args})
		}
	}
	return out
}

// soften takes a relation and the ungrounded values behind it for one sign:
// the relation with the values at softRecipient, or the values alone, whichever
// costs more. A relation that a tainted mission brings about buys nothing so.
func soften(out []sentinel.Evidence) []sentinel.Evidence {
	full, soft := 0, out[0].Amount
	for _, e := range out[1:] {
		full += e.Amount
		soft += max(e.Amount, softRecipient)
	}
	if full < soft {
		return out[1:]
	}
	for i := range out[1:] {
		out[i+1].Amount = max(out[i+1].Amount, softRecipient)
	}
	return out
}
