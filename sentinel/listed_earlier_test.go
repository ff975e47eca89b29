package sentinel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// A trusted result of an earlier turn lists what no argument had taken there. After something
// fell out of the bounds nothing is known of what arguments had.
func TestListedEarlier(t *testing.T) {
	result := func(args, text string) sentinel.PastResult {
		return sentinel.PastResult{Step: sentinel.Step{Skill: "contacts.find", Args: args, Result: text, Trust: skills.Trusted,
			Effect: skills.Read, StrangerFields: []string{"status"}}}
	}
	const eva = "eva@dept.example"
	listed := result(`{"q":"eva"}`, `{"email":"`+eva+`"}`)
	untrusted, failed, change, gone := listed, listed, listed, result("", "")
	untrusted.Trust, failed.Failed, change.Effect, gone.Gone = skills.Untrusted, true, skills.Create, true
	for name, tc := range map[string]struct {
		past []sentinel.PastResult
		want bool
	}{
		"listed":                  {[]sentinel.PastResult{listed}, true},
		"listed after a stranger": {[]sentinel.PastResult{untrusted, listed}, true},
		"nothing":                 {nil, false},
		"untrusted":               {[]sentinel.PastResult{untrusted}, false},
		"failed":                  {[]sentinel.PastResult{failed}, false},
		"a change":                {[]sentinel.PastResult{change}, false},
		"asked for":               {[]sentinel.PastResult{result(`{"q":"`+eva+`"}`, listed.Result)}, false},
		"asked for before":        {[]sentinel.PastResult{result(`{"q":"`+eva+`"}`, "none"), listed}, false},
		"asked for later":         {[]sentinel.PastResult{listed, result(`{"q":"`+eva+`"}`, "none")}, true},
		"a stranger's field":      {[]sentinel.PastResult{result(`{}`, `{"status":"`+eva+`"}`)}, false},
		"after what is lost":      {[]sentinel.PastResult{gone, listed}, false},
		"before what is lost":     {[]sentinel.PastResult{listed, gone}, true},
	} {
		trace := sentinel.NewTrace().WithPastResults(tc.past...)
		got := trace.ListedEarlier(eva, func(s *sentinel.Said) bool { return strings.Contains(s.Fold(), eva) },
			func(text string) bool { return strings.Contains(text, eva) })
		require.Equal(t, tc.want, got, name)
	}
}
