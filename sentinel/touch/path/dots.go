package path

import "strings"

// ResolveDots resolves ".", ".." and repeated slashes of an absolute path, and
// nothing else.
func ResolveDots(p string) string { return resolveDots(p, false) }

// resolveDots does so, and with lax as receivers do that trim names or take
// "..." for "..".
func resolveDots(p string, lax bool) string {
	if isResolved(p) {
		return p
	}
	out := make([]byte, 0, len(p)+1)
	for p != "" {
		var c string
		c, p, _ = strings.Cut(p, "/")
		if lax {
			c = readLaxName(c, p)
		}
		switch c {
		case "", ".":
		case "..":
			for len(out) > 0 {
				last := out[len(out)-1]
				out = out[:len(out)-1]
				if last == '/' {
					break
				}
			}
		default:
			out = append(append(out, '/'), c...)
		}
	}
	if len(out) == 0 {
		return "/"
	}
	return string(out)
}

// readLaxName reads one component as a receiver might that trims trailing dots and
// blanks, takes three dots for two, or matches ".?" as a pattern. rest is what
// follows it.
func readLaxName(c, rest string) string {
	if c == "" || c == "." || c == ".." {
		return c
	}
	switch c {
	case "..;", ".?", ".*", "?.", ".;.":
		if rest != "" {
			return ".."
		}
		return c
	}
	trimmed := strings.TrimRight(c, ". ")
	if trimmed != "" {
		return strings.TrimSpace(trimmed)
	}
	switch strings.TrimSpace(c) {
	case ".":
		return "."
	case "..":
		return ".."
	}
	if rest != "" && strings.Count(c, ".") > 1 {
		return ".."
	}
	return c
}

// isResolved reports whether resolveDots has nothing to do, lax or not: an
// absolute path whose every name begins and ends with a letter, a digit, "_" or
// "-". Others may be resolved as well; these are most.
func isResolved(p string) bool {
	if len(p) < 2 || p[0] != '/' || !isSolidByte(p[len(p)-1]) {
		return false
	}
	for i := range len(p) {
		if p[i] == '/' && (!isSolidByte(p[i+1]) || i > 0 && !isSolidByte(p[i-1])) {
			return false
		}
	}
	return true
}

func isSolidByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '-' }
