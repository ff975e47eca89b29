package judge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
)

// The signals that aren't hard are these and no others. One that joins them needs a row of
// its own here, and a reason in the package's documentation.
func TestWeights(t *testing.T) {
	require.Equal(t, map[string]weight{
		"other_topic": doubtful, "other_action": doubtful, "amount_unknown": doubtful, "amount_nowhere": doubtful, "unasked": doubtful,
		"unrelated": doubtfulUntainted, "unreadable_request": doubtfulUntainted,
		"wordless_request": doubtful, "ref_listed": doubtful, "recipient_listed": doubtful, "recipient_visited": doubtful,
		"recipient_earlier": doubtful, "ref_earlier": doubtful, "target_earlier": doubtful, "amount_earlier": doubtful,
		"recipient_author": doubtful, "ref_folder": doubtful, "asked_into_trusted_store": doubtful,
		"rival_fits_better": doubtful, "repeated_call": doubtful, "spent_over_limit": doubtful,
		"look_only":      doubtfulDelegated,
		"intent_mention": offsetting, "habit": offsetting,
	}, weights)
}

// Each signal is in doubt where its class says so: by the taint, and by what was handed over.
func TestIsDoubt(t *testing.T) {
	for signal, want := range map[string][4]bool{ // clean; clean, handed over; tainted; tainted, handed over
		SignalOtherTopic: {true, true, true, true}, SignalUnasked: {true, true, true, true},
		SignalUnrelated: {true, true, false, false}, SignalUnreadable: {true, true, false, false},
		SignalLookOnly: {true, true, false, true}, SignalIntentMention: {},
		SignalSensitiveFlow: {}, SignalPrivateOutward: {}, SignalTrustedStore: {}, SignalUnaskedRight: {}, SignalOverLimit: {},
		SignalEverything: {}, SignalWiderRights: {}, SignalInstruction: {}, SignalTraversal: {}, SignalSecretInContent: {},
		SignalBlob: {}, SignalNearMiss: {}, SignalContradicts: {}, SignalOtherDate: {}, SignalOtherID: {}, SignalPrivateRead: {},
		SignalAddressInContent: {}, SignalAfterRefusal: {}, "recipient_unknown": {}, "recipient_untrusted": {}, "host_nowhere": {},
		"amount_untrusted": {}, "target_untrusted": {}, "ref_untrusted": {},
	} {
		for i, doubt := range want {
			require.Equal(t, doubt, isDoubt(sentinel.Evidence{Signal: signal, Amount: -20}, i >= 2, i%2 == 1), "%s %d", signal, i)
		}
	}
	require.True(t, isDoubt(sentinel.Evidence{Signal: SignalAmountExceeds, Amount: -10}, true, false))
	require.False(t, isDoubt(sentinel.Evidence{Signal: SignalAmountExceeds, Amount: -11}, false, true))
}

// A gate that is told to ask and deny nothing does neither, whatever the sum.
func TestOffNeitherAsksNorDenies(t *testing.T) {
	_, counted := Outcomes([]sentinel.Evidence{{Signal: SignalSensitiveFlow, Amount: -50},
		{Signal: SignalOtherTopic, Amount: -35, Doubt: true}}, 0, 0)
	require.Equal(t, sentinel.Allow, counted)
}
