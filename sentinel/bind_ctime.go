//go:build unix && !darwin && !freebsd && !netbsd

package sentinel

import "syscall"

// changeTime is when the file's content or metadata changed last.
func changeTime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }
