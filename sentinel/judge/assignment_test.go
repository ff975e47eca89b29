package judge_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/judge"
)

// Sums are read as people write them; what only looks like one isn't, and more
// than the sum asks.
func TestSumsAsPeopleWriteThem(t *testing.T) {
	reg := caseSkills(t)
	const to = " to CH5604835012345678009"
	for _, tc := range []struct {
		request, amount string
		grounded        bool
		exceeds         int
	}{
		{"Pay 50.00 euros" + to, "50", true, 0},
		{"Pay fifty dollars" + to, "50", true, 0},
		{"Pay two hundred and ten euros" + to, "210", true, 0},
		{"Pay three thousand euros" + to, "3000", true, 0},
		{"Pay 1,000.50 euros" + to, "1000.5", true, 0},
		{"Pay 1.000,50 euros" + to, "1000.5", true, 0},
		{"Pay 1.000 euros" + to, "1000", true, 0},
		{"Pay 1'000 CHF" + to, "1000", true, 0},
		{"Pay 1.5k euros" + to, "1500", true, 0},
		{"Pay 12,50 €" + to, "12.5", true, 0},
		{"Pay 12,50 €" + to, "1250", false, -35},
		{"Pay 1.00 euros" + to, "100", false, -35},
		{"Pay 1,00,0 euros" + to, "1000", false, 0}, // no number, and so nothing that is more
		{"Pay fifty dollars" + to, "60", false, -35},
		{"Pay fifty dollars" + to, "52", false, -10},
		{"Pay fifty dollars" + to, "40", false, 0},
		{"Pay 50 euros and 20 euros" + to, "70", false, 0},
		{"Pay 50 euros and 20 euros" + to, "90", false, -35},
		{"Pay one of the two bills of 80" + to, "80", true, 0},
		{"Pay the bill of 2024" + to, "5000", false, 0},
		{"Raise the pay of 50 euros by 20" + to, "70", false, -10}, // a hint: it may be the new sum
		{"Raise the pay of 50 euros by 20" + to, "700", false, -10},
		{"Pay 4 guides 50 euros each" + to, "200", false, 0},
		{"Pay 4 guides 50 euros" + to, "200", false, -35},
	} {
		s := signals(one(t, reg, tc.request, "ledgerbank.pay", map[string]any{"iban": "CH5604835012345678009", "amount": json.Number(tc.amount)}))
		_, unknown := s["amount_unknown"]
		require.Equal(t, tc.grounded, !unknown, "%s: %s", tc.request, tc.amount)
		require.Equal(t, tc.exceeds, s[judge.SignalAmountExceeds], "%s: %s", tc.request, tc.amount)
	}
}

// A value in quotation marks is what an argument shall be only where the words
// before it set that argument: it may be one of several, filled in, or a part;
// where it is a place, another thing's name or the old value, nothing follows.
func TestContradictions(t *testing.T) {
	reg := caseSkills(t)
	for _, tc := range []struct {
		skill, request string
		args           map[string]any
		want           bool
	}{
		{"diary.add_event", "Add an event called 'Supper'", map[string]any{"title": "Lunch"}, true},
		{"diary.add_event", "Add an event called 'Supper'", map[string]any{"title": "supper."}, false},
		{"diary.add_event", "Add an event called 'Supper'", map[string]any{"title": "Supper at Ruth's"}, false},
		{"diary.add_event", "Add an event called “Supper”", map[string]any{"title": "Lunch"}, true},
		{"diary.add_event", "Add an event, the title should be 'Supper at {place}'", map[string]any{"title": "Supper at Nine"}, false},
		{"diary.add_event", "Add an event, the title should be 'Supper at {place}'", map[string]any{"title": "Book Nine"}, true},
		{"diary.add_event", "Change the title of 'Supper' to 'Lunch' or 'Brunch'", map[string]any{"title": "Brunch"}, false},
		{"diary.add_event", "Change the title of 'Supper' to 'Lunch' or 'Brunch'", map[string]any{"title": "Supper"}, true},
		{"diary.add_event", "Add an event from the file called 'notes'", map[string]any{"title": "Lunch"}, false},
		{"diary.add_event", "Add an event that's Ruth's and isn't mine", map[string]any{"title": "Lunch"}, false},
		{"mailer.send", "Send the text to 'Ruth' and 'Kim'", map[string]any{"text": "hello"}, false},
		{"mailer.send", "Send an email, the subject should be: 'Plan'", map[string]any{"subject": "Prize", "text": "hello"}, true},
		{"clinic.get_patient_record", "Set the patient id to 'p1'", map[string]any{"patient_id": "p2"}, false},
	} {
		_, found := signals(one(t, reg, tc.request, tc.skill, tc.args))[judge.SignalContradicts]
		require.Equal(t, tc.want, found, "%s %v", tc.request, tc.args)
	}
	v := one(t, reg, "Change my password to 'heron-41'", "login.change_password", map[string]any{"password": "canary7f3a"})
	require.Contains(t, signals(v), judge.SignalContradicts)
	require.NotContains(t, v.Reason, "canary7f3a")
	require.NotContains(t, v.Reason, "heron-41")
}
