package loop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// A refusal says what, why, what can be done, where it is on record, and when the same
// call may come again.
func TestDescribeRefusal(t *testing.T) {
	no := &skills.Refusal{Kind: skills.KindDefer, Gate: "limits", Code: "limits.skill_open", Reason: "it failed <often>",
		WhatYouCanDo: "wait", DecisionID: "d1", Retryable: true, RetryAfter: 1200 * time.Millisecond}
	require.Equal(t, `{"code":"limits.skill_open","decision":"d1","ok":false,"reason":"it failed \u003coften\u003e","refused":"defer",`+
		`"retry_after_seconds":2,"retryable":true,"what_you_can_do":"wait"}`, DescribeRefusal(no))
	no.RetryAfter, no.Retryable = 0, false
	require.NotContains(t, DescribeRefusal(no), "retry_after_seconds")
}

// A failure names its code, and what can't be JSON is said to be none.
func TestDescribeFailure(t *testing.T) {
	require.Equal(t, `{"error":"timeout","ok":false,"reason":"it took \"long\""}`, DescribeFailure("timeout", `it took "long"`))
	require.Contains(t, EncodeJSON(make(chan int)), `"ok":false`)
}
