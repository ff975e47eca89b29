package userglob

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A star takes any run of characters, slashes too; a class takes one
// character; the whole id has to match.
func TestGlob(t *testing.T) {
	for _, tc := range []struct {
		glob      string
		fit, miss []string
	}{
		{"guest-*", []string{"guest-", "guest-1", "guest-1/x", "guest-x@a/b", "guest-\xff", "guest-a\nb"},
			[]string{"guest", "Guest-1", "xguest-1"}},
		{"*/x", []string{"/x", "a/b/x"}, []string{"x", "/x/"}},
		{"a?c", []string{"abc", "a/c", "aéc"}, []string{"ac", "abbc"}},
		{"*a*b*", []string{"ab", "xxaxxbxx", "aab"}, []string{"ba", "a"}},
		{"[a-cx]da", []string{"ada", "xda"}, []string{"dda", "-da"}},
		{"[^a-c]da", []string{"dda", "/da"}, []string{"ada", "da"}},
		{"[]a]", []string{"]", "a"}, []string{"[", ""}},
		{"[^]]", []string{"a"}, []string{"]"}},
		{"[a-]", []string{"a", "-"}, []string{"b"}},
		{`[\][*][{][}][[]`, []string{`\*{}[`}, []string{`*{}[`}},
		{"*", []string{"", "team/ada"}, nil},
	} {
		g, mistake := Parse(tc.glob)
		require.Empty(t, mistake, tc.glob)
		for _, s := range tc.fit {
			require.True(t, g.Matches(s), "%s %q", tc.glob, s)
		}
		for _, s := range tc.miss {
			require.False(t, g.Matches(s), "%s %q", tc.glob, s)
		}
	}
}

// What would silently match no user, or be read in two ways, is a mistake that
// says what to write.
func TestGlobMistakes(t *testing.T) {
	for glob, want := range map[string]string{
		"": "empty", "{guest,anon}-*": "brace", "{a": "brace", "a}": "[{]", "guest-**": "**", `a\*`: "[*]", "[a": "without a ]",
		"[": "without a ]", "[]": "without a ]",
		"[^]": "without a ]", "a]": "[]]", "[!a]": "[^", "[z-a]": "range", "a\xff": "UTF-8", "\ufffd": "UTF-8",
	} {
		_, mistake := Parse(glob)
		require.Contains(t, mistake, want, "%q", glob)
	}
}

// Every glob says what the regular expression of the same meaning says.
func TestGlobEqualsRegexp(t *testing.T) {
	pieces := map[string]string{"*": "(?s:.*)", "?": "(?s:.)", "a": "a", "/": "/", "[ab]": "[ab]", "[^a/]": "[^a/]", ".": `\.`}
	rapid.Check(t, func(t *rapid.T) {
		var glob, expr strings.Builder
		last := ""
		for _, p := range rapid.SliceOfN(rapid.SampledFrom([]string{"*", "?", "a", "/", "[ab]", "[^a/]", "."}), 1, 8).Draw(t, "pieces") {
			if p == "*" && last == "*" {
				continue
			}
			last = p
			glob.WriteString(p)
			expr.WriteString(pieces[p])
		}
		g, mistake := Parse(glob.String())
		require.Empty(t, mistake)
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab/.\n")), 0, 10, -1).Draw(t, "text")
		require.Equal(t, regexp.MustCompile("^(?:"+expr.String()+")$").MatchString(text), g.Matches(text), "%s %q", glob.String(), text)
	})
}

// No text makes the parser panic, and the time that a match takes is bounded.
func FuzzGlob(f *testing.F) {
	for _, s := range []string{"guest-*", "[a-z]?*", "[^]]", "{a,b}", "**", "[", `\`, "*a*a*a*a*b"} {
		f.Add(s, "guest-1/x")
	}
	f.Fuzz(func(t *testing.T, glob, text string) {
		g, mistake := Parse(glob)
		if mistake == "" {
			require.NotEmpty(t, g)
			g.Matches(text)
		}
	})
}
