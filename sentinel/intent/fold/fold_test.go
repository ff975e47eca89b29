package fold_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/intent/fold"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"Find EXPERTS":               "find experts",
		"Über Lieferketten, größer":  "uber lieferketten, grosser",
		"ｆｕｌｌ ｗｉｄｔｈ":                 "full width",
		"zero\u200bwidth\u202e":      "zerowidth",
		"“quoted” – it’s":            `"quoted" - it's`,
		"Żółw":                       "zolw",
		"привет Мир":                 "привет мир",
		"tab\tand\nline":             "tab\tand\nline",
		"bell\x07":                   "bell",
		"bad\xffbyte":                "bad\uFFFDbyte",
		"\U000e0041\U000e0042hidden": "hidden",
		"한국어":                        "한국어",
		"ﬁle":                        "file",
		"𝐛𝐨𝐥𝐝":                       "bold",
	} {
		require.Equal(t, want, fold.Plain(in), "%q", in)
	}
}

func TestSkeleton(t *testing.T) {
	for in, want := range map[string]string{
		"DR\u041eP TABLE":               "drop table",
		"ignоrе рrеviоus":               "ignore previous", // Cyrillic о, е, р
		"<ѕcrіpt>":                      "<script>",
		"plain":                         "plain",
		"ρm -rf":                        "pm -rf",
		"．．／":                           "../",
		"u\u200bn\u200bi\u200bo\u2060n": "union",
	} {
		require.Equal(t, want, fold.Skeleton(in), "%q", in)
	}
}

func TestScripts(t *testing.T) {
	require.Equal(t, []string{"Cyrillic"}, fold.Scripts("pаypal"))
	require.Equal(t, []string{"Cyrillic", "Greek"}, fold.Scripts("аα"))
	for _, one := range []string{"paypal", "привет", "αβγ", "été", "東京tokyo", ""} {
		require.Empty(t, fold.Scripts(one), one)
	}
}

// Folding is stable, gives valid text without invisible characters, and needs no more than a bounded multiple of room.
func FuzzFold(f *testing.F) {
	for _, s := range []string{"Find experts", "größe", "\u200b\ufdfa", "\xff", "İI", "ﷺ", "ǆ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, one := range []func(string) string{fold.Plain, fold.Skeleton} {
			got := one(s)
			require.True(t, utf8.ValidString(got))
			require.Equal(t, got, one(got), "folded twice")
			require.LessOrEqual(t, len(got), 32*len(s)+32)
		}
	})
}
