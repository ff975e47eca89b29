package snapshot

import (
	"path"
	"strings"
)

// staysInside reports whether a symbolic link at rel leads to something in its root, or in an
// allowed folder. It reads texts alone, so a ".." counts only at the beginning, where it goes
// up from a real folder. After a name, which may be a link, it could lead anywhere.
func staysInside(root, rel, target string, allowed []string) bool {
	if target == "" {
		return false
	}
	up, rest := 0, target
	if !path.IsAbs(target) {
		for rest == ".." || strings.HasPrefix(rest, "../") {
			up++
			rest = strings.TrimLeft(strings.TrimPrefix(rest, ".."), "/")
		}
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == ".." {
			return false
		}
	}
	if !path.IsAbs(target) {
		return up <= strings.Count(rel, "/")
	}
	clean := path.Clean(target)
	for _, folder := range append([]string{root}, allowed...) {
		if clean == folder || strings.HasPrefix(clean, strings.TrimSuffix(folder, "/")+"/") {
			return true
		}
	}
	return false
}
