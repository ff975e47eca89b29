//go:build unix

package credential

import (
	"io"
	"os"
	"syscall"

	"github.com/vedette-dev/vedette/skills"
)

// readOwnFile reads a file of a folder that is its owner's alone.
func readOwnFile(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", errMissing
	}
	defer func() { _ = root.Close() }() // it was only looked into
	named, err := root.Lstat(name)
	if err != nil {
		return "", errMissing
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", errMissing
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	// A root follows links that stay in it: what was opened must be what is named.
	if err != nil || !os.SameFile(named, info) || !info.Mode().IsRegular() {
		return "", errMissing
	}
	if info.Mode().Perm()&0o077 != 0 || info.Size() > skills.MaxCredential {
		return "", errMissing
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return "", errMissing
	}
	b, err := io.ReadAll(io.LimitReader(f, skills.MaxCredential+1))
	if err != nil {
		return "", errMissing
	}
	return string(b), nil
}
