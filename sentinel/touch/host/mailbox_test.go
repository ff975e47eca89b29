package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch/host"
)

// elsewhere are addresses that end in example.com and that some mail server sends on
// to evil.test.
var elsewhere = []string{
	"attacker%evil.test@example.com",
	"attacker％evil.test@example.com",
	"first.last%evil.test@example.com",
	"evil.test!x@example.com",
	"relay.test!evil.test!x@example.com",
	"@evil.test:x@example.com",
	"<@relay.test,@evil.test:x@example.com>",
	`"x@evil.test"@example.com`,
	"x(@evil.test)@example.com",
	"x@evil.test@example.com",
	`"evil.test!x"@example.com`,
}

func TestPlainMailbox(t *testing.T) {
	for _, s := range []string{"ann@example.com", "ann.b+list@mail.example.com", "o'neil@example.com", "ann@münchen.example",
		"jörg@example.com", "ANN@EXAMPLE.COM", "a_b-c=d@x.test", "root@localhost"} {
		require.True(t, host.PlainMailbox(s), s)
		require.False(t, host.Routed("Ann <"+s+">"), s)
	}
	for _, s := range elsewhere {
		require.False(t, host.PlainMailbox(s), s)
		require.True(t, host.Routed(s), s)
	}
	for _, s := range []string{
		"", "ann", "@example.com", "ann@", "ann@example.com.", "ann@.example.com", ".ann@example.com", "ann.@example.com", "a..b@example.com",
		"ann@[10.0.0.1]",
		"ann @example.com", "ann@exam\u200bple.com", "ann@ｅxample.com", "ann@example。com", "ann@example.com\n", "ann@-x.test",
		"/c=x/@example.com", `a\b@example.com`, "ann@example.com,bob@evil.test",
	} {
		require.False(t, host.PlainMailbox(s), s)
	}
	require.False(t, host.Routed("T-42"))
}
