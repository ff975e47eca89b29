package touch

// resolved reports whether resolveDots has nothing to do, lax or not: an
// absolute path whose every name begins and ends with a letter, a digit, "_" or
// "-". Others may be resolved as well; these are most.
func resolved(p string) bool {
	if len(p) < 2 || p[0] != '/' || !solid(p[len(p)-1]) {
		return false
	}
	for i := range len(p) {
		if p[i] == '/' && (!solid(p[i+1]) || i > 0 && !solid(p[i-1])) {
			return false
		}
	}
	return true
}

func solid(c byte) bool { return letter(c) || digit(c) || c == '_' || c == '-' }
