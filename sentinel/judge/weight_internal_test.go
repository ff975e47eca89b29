package judge

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
)

// The signals that aren't hard are these and no others. One that joins them needs a row of
// its own here, and a reason in the package's documentation.
func TestWeights(t *testing.T) {
	want := map[string]weight{
		"other_topic": doubtful, "other_action": doubtful, "amount_unknown": doubtful, "amount_nowhere": doubtful, "unasked": doubtful,
		"unrelated": doubtfulUnsolicited, "unreadable_request": doubtfulUntainted, "met_address_in_content": doubtful,
		"wordless_request": doubtful, "recipient_met": doubtful, "recipient_called": doubtful, "recipient_listed": doubtful,
		"recipient_visited": doubtful, "recipient_earlier": doubtful, "ref_listed": doubtful, "ref_earlier": doubtful,
		"target_listed": doubtful, "target_earlier": doubtful, "host_listed": doubtful, "host_earlier": doubtful,
		"asked_into_trusted_store": doubtful,
		"rival_fits_better":        doubtful, "repeated_call": doubtful, "spent_over_limit": doubtful, "private_read": doubtfulFieldless,
		"over_earlier_limit": doubtful,
		"look_only":          doubtfulDelegated,
		"intent_mention":     offsetting, "habit": offsetting,
	}
	for signal, w := range want {
		require.Equal(t, w, weightOf(signal), signal)
	}
	// Every word of this package that may name a signal is one of those, or hard.
	for _, word := range listWords(t) {
		require.Equal(t, want[word], weightOf(word), word)
	}
}

// listWords lists every string that stands in the package's own code.
func listWords(t *testing.T) (words []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == gotoken.STRING {
				word, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				words = append(words, word)
			}
			return true
		})
	}
	require.Greater(t, len(words), 100)
	return words
}

// Each signal is in doubt where its class says so: by the taint, and by what was handed over.
func TestIsDoubt(t *testing.T) {
	turns := [...]turnKind{plainTurn, taintedTurn}
	for signal, want := range map[string][4]bool{ // clean; clean, handed over; tainted; tainted, handed over
		SignalOtherTopic: {true, true, true, true}, SignalUnasked: {true, true, true, true},
		SignalUnrelated: {true, true, false, false}, SignalUnreadable: {true, true, false, false},
		SignalLookOnly: {true, true, false, true}, SignalIntentMention: {},
		SignalSensitiveFlow: {}, SignalPrivateOutward: {}, SignalTrustedStore: {}, SignalUnaskedRight: {}, SignalOverLimit: {},
		SignalEverything: {}, SignalWiderRights: {}, SignalInstruction: {}, SignalTraversal: {}, SignalSecretInContent: {},
		SignalBlob: {}, SignalNearMiss: {}, SignalContradicts: {}, SignalOtherDate: {}, SignalOtherID: {}, SignalPrivateRead: {},
		"recipient_nowhere":    {},
		SignalAddressInContent: {}, SignalAfterRefusal: {}, "recipient_unknown": {}, "recipient_untrusted": {}, "host_nowhere": {},
		"amount_untrusted": {}, "target_untrusted": {}, "ref_untrusted": {},
	} {
		for i, doubt := range want {
			require.Equal(t, doubt, isDoubt(sentinel.Evidence{Signal: signal, Amount: -20},
				circumstances{turn: turns[i/2], handedOver: i%2 == 1}), "%s %d", signal, i)
			if i < 2 {
				require.Equal(t, doubt && signal != SignalUnrelated, isDoubt(sentinel.Evidence{Signal: signal, Amount: -20},
					circumstances{turn: solicitedTurn, handedOver: i%2 == 1}), "%s %d, solicited", signal, i)
			}
		}
	}
	for _, fieldless := range []bool{true, false} {
		require.Equal(t, fieldless, isDoubt(sentinel.Evidence{Signal: SignalPrivateRead, Amount: -30}, circumstances{fieldless: fieldless}))
	}
	require.True(t, isDoubt(sentinel.Evidence{Signal: SignalAmountExceeds, Amount: -10}, circumstances{turn: taintedTurn}))
	require.False(t, isDoubt(sentinel.Evidence{Signal: SignalAmountExceeds, Amount: -11}, circumstances{handedOver: true}))
}

// A gate that is told to ask and deny nothing does neither, whatever the sum.
func TestOffNeitherAsksNorDenies(t *testing.T) {
	_, counted := Outcomes([]sentinel.Evidence{{Signal: SignalSensitiveFlow, Amount: -50},
		{Signal: SignalOtherTopic, Amount: -35, Doubt: true}}, 0, 0)
	require.Equal(t, sentinel.Allow, counted)
}
