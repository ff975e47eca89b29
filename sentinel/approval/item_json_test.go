package approval_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/skills"
)

// An item of a list is written as the encoder writes it, whatever its texts are.
func TestItemJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := func(name string) string {
			return rapid.OneOf(rapid.Just(""), rapid.String(), rapid.StringMatching(`[ -~]*`)).Draw(rt, name)
		}
		at := func(name string) time.Time {
			return time.UnixMilli(rapid.Int64Range(0, 4_000_000_000_000).Draw(rt, name)).UTC()
		}
		count := rapid.IntRange(0, 3)
		i := approval.Item{
			ID: text("id"), Call: text("call"), Conversation: text("conversation"), Turn: text("turn"), Agent: text("agent"), User: text("user"),
			Proposer: text("proposer"), Skill: text("skill"), Effect: skills.Effect(text("effect")), Outward: rapid.Bool().Draw(rt, "outward"),
			Tainted: rapid.Bool().Draw(rt, "tainted"), Commits: text("commits"), CommitsEffect: skills.Effect(text("commits_effect")),
			Digest: text("digest"), Asked: at("asked"), Expires: at("expires"), State: approval.State(text("state")), Code: text("code"),
			Needed: count.Draw(rt, "needed"), Yes: count.Draw(rt, "yes"), Place: count.Draw(rt, "place"), Of: count.Draw(rt, "of"),
			By: text("by"), Via: text("via"),
		}
		if rapid.Bool().Draw(rt, "answered") {
			i.At = at("at")
		}
		want, err := plainjson.Marshal(i)
		require.NoError(t, err)
		require.Equal(t, string(want), string(i.AppendJSON(nil)))
	})
}
