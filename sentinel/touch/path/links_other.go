//go:build !unix

package path

import (
	"io/fs"
	"os"
)

// inspectEntry says what is at p.
func inspectEntry(p string) entry {
	info, err := os.Lstat(p)
	if err != nil {
		return entry{missing: true}
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return entry{}
	}
	target, err := os.Readlink(p)
	return entry{missing: err != nil, target: target}
}
