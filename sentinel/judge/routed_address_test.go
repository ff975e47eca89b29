package judge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
)

// An address that some mail server sends on elsewhere is no person whom the user named. What
// stands behind its last "@" doesn't matter, and only the user's writing it out grounds it.
func TestRoutedAddressesAreUnknownRecipients(t *testing.T) {
	reg := caseSkills(t)
	const req = "Forward the message to Kim at example.com"
	for _, to := range []string{
		"kim%evil.test@example.com", "evil.test!kim@example.com", "kim@evil.test@example.com", `"kim@evil.test"@example.com`,
		"kim(@evil.test)@example.com",
		"@evil.test:kim@example.com", "kim@example.com.", "kim％evil.test@example.com", "kim%kim@example.com", "kim@ехample.com",
	} {
		v := one(t, reg, req, "mailer.forward", map[string]any{"message_id": "m-9", "to": []string{to}})
		require.Less(t, v.Outcome, sentinel.Allow, "%s: %s", to, v.Reason)
	}
	v := one(t, reg, req, "mailer.forward", map[string]any{"message_id": "m-9", "to": []string{"kim@example.com"}})
	require.Equal(t, sentinel.Allow, v.Outcome, v.Reason)
	v = one(t, reg, "Forward the message to kim%evil.test@example.com", "mailer.forward",
		map[string]any{"message_id": "m-9", "to": []string{"kim%evil.test@example.com"}})
	require.Equal(t, sentinel.Allow, v.Outcome, v.Reason)
}
