//go:build unix

package assembly

import (
	"os"
	"syscall"
)

func ownerOf(info os.FileInfo) (uid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
