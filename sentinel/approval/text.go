package approval

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// maxShown is how many bytes of one value a person is shown; what is cut is
// counted, so that nothing hides behind length.
const maxShown = 600

// quote makes one line of a hostile text: quoted, with control, invisible and
// direction-changing characters escaped.
func quote(s string) string { return clip(strconv.QuoteToGraphic(visible(s)), maxShown) }

// printable is quote for texts of our own that may carry a name from outside.
func printable(s string) string {
	q := strconv.QuoteToGraphic(visible(s))
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// visible replaces what a terminal would not show as itself.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + fmt.Sprintf("… (%d more bytes)", len(s)-n)
}
