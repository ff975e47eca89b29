//go:build unix

package code_test

import (
	"syscall"
	"time"
)

// spentTime is the time of processors that this process has had: on a busy machine too it is what the
// work takes.
func spentTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
