package judge

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The number of a share is no day of the month before it.
func TestSharesAreNoDays(t *testing.T) {
	for text, days := range map[string]int{
		"Pay it on January 3": 1, "The rent rises in January 3 percent": 0, "ab Januar 3 Prozent mehr": 0, "from January 3% more": 0,
		"on January 3, 5% more": 1,
	} {
		require.Len(t, readText(text).dates, days, text)
	}
}

// A user who compared the last digits of an account says its end; fewer digits, or other ones, don't.
func TestSaysEnd(t *testing.T) {
	account := value{kind: recipient, fold: "lu68 0019 4006 4400 4417"}
	for words, want := range map[string]bool{
		"she read me 4417 as the last digits": true, "it ends in 004417": true, "417": false, "4471": false, "4417x": false, "44171": false,
	} {
		v := &view{own: readText(words)}
		require.Equal(t, want, v.saysEnd(account), words)
	}
	require.False(t, (&view{}).saysEnd(account), "no words")
}

// A pattern of a database is no address, and what only looks like one is.
func TestIsWildcard(t *testing.T) {
	for at, want := range map[string]bool{"%@qa.test": true, "*@qa.test": true, "kim@qa.test": false, "k%@qa.test": false} {
		require.Equal(t, want, isWildcard(at), at)
	}
}
