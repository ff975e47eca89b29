package exec

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	x32Bit    = 0x40000000
)

// What this processor's kernel has besides, mostly from older times.
var (
	oldRefused  = []uint32{unix.SYS_KEXEC_FILE_LOAD, unix.SYS_IOPL, unix.SYS_IOPERM}
	oldModes    = []modes{{unix.SYS_CHMOD, 1, -1}, {unix.SYS_MKNOD, 1, -1}, {unix.SYS_CREAT, 1, -1}, {unix.SYS_OPEN, 2, 1}}
	oldMetadata = []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
)
