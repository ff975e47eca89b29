//go:build !unix

package eval

import "os"

// tryLock grants at once: there is no lock here that leaves reading to others.
func tryLock(*os.File) (bool, error) { return true, nil }
