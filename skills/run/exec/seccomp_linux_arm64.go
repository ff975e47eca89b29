package exec

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	x32Bit    = 0
)

// What this processor's kernel has besides.
var (
	oldRefused  = []uint32{unix.SYS_KEXEC_FILE_LOAD}
	oldModes    []modes
	oldMetadata []uint32
)
