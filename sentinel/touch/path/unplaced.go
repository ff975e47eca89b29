package path

import "strings"

// IsUnplaced reports whether no two receivers need agree on what raw names:
// overlong or nested escapes, "%u2215", a URL, a device of Windows.
func IsUnplaced(raw string) bool {
	if _, url := CutScheme(raw); url || isReservedName(raw) {
		return true
	}
	for range maxDecodes {
		if strings.IndexByte(raw, '%') < 0 {
			return false
		}
		for i := 0; i+2 < len(raw); i++ {
			if raw[i] == '%' && isOddEscape(raw[i+1:]) {
				return true
			}
		}
		raw = DecodePercent(raw)
	}
	return false
}

// isReservedName reports whether raw names one of Windows' devices in the way of
// Windows, or a file's stream by its type: elsewhere they are plain names.
func isReservedName(raw string) bool {
	colon := strings.IndexByte(raw, ':') >= 0
	if colon && strings.HasSuffix(strings.ToLower(raw), "$data") {
		return true
	}
	windows := colon || strings.IndexByte(raw, '\\') >= 0
	last := raw[max(strings.LastIndexByte(raw, '/'), strings.LastIndexByte(raw, '\\'))+1:]
	if !windows && hasSmallLetter(last) { // the one letter tells what the comparisons below would
		return false
	}
	stem, _, _ := strings.Cut(strings.TrimRight(last, ": ."), ".")
	if !windows && (stem != strings.ToUpper(stem) || stem != last) {
		return false
	}
	stem = strings.ToLower(strings.TrimSpace(stem))
	switch stem {
	case "con", "prn", "aux", "nul", "conin$", "conout$", "clock$":
		return true
	}
	return len(stem) == 4 && (stem[:3] == "com" || stem[:3] == "lpt") && isDigit(stem[3]) && stem[3] != '0'
}

func hasSmallLetter(s string) bool {
	for i := range len(s) {
		if s[i] >= 'a' && s[i] <= 'z' {
			return true
		}
	}
	return false
}

// isOddEscape looks at what follows a "%": a rune, an escaped escape, or the
// first byte of an overlong form.
func isOddEscape(s string) bool {
	if _, ok := readHexRune(s, 0); ok {
		return true
	}
	if s[0] == '%' {
		_, ok := readHexByte(s, 1)
		return ok
	}
	lead, ok := readHexByte(s, 0)
	if !ok || lead < 0xc0 {
		return false
	}
	if lead < 0xc2 || lead > 0xf4 {
		return true
	}
	next, ok := byte(0), len(s) > 3 && s[2] == '%'
	if ok {
		next, ok = readHexByte(s, 3)
	}
	return ok && (lead == 0xe0 && next < 0xa0 || lead == 0xf0 && next < 0x90)
}
