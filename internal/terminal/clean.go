package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Clean makes a text safe to show. Clean escapes what is not seen as a character, such as
// controls and marks that turn the direction of writing.
func Clean(s string) string {
	safe := true
	for _, r := range s {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			safe = false
			break
		}
	}
	if safe {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(escapeRune(s[i : i+n]))
		}
		i += n
	}
	return b.String()
}

// escapeRune writes one character in the way of a Go string.
func escapeRune(c string) string {
	r, _ := utf8.DecodeRuneInString(c)
	return strings.Trim(strconv.QuoteRuneToASCII(r), "'")
}

// CleanJSON makes JSON safe to show and changes no value of it. What Clean escapes can
// only stand in strings, and JSON has an escape for each.
func CleanJSON(b []byte) []byte {
	var out []byte
	done := 0 // what stands before is in out
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if b[i] != 0x7f && r < utf8.RuneSelf || r != utf8.RuneError && strconv.IsPrint(r) {
			i += n
			continue
		}
		out = append(out, b[done:i]...)
		if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		} else {
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
		done = i
	}
	if out == nil {
		return b
	}
	return append(out, b[done:]...)
}
