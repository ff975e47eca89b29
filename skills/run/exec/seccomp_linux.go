package exec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/isolate"
)

// The filter is a list of what is refused. A list of what is allowed would break with the next
// version of the C library. EPERM stands for what a program must not do; ENOSYS for what it
// can do in another way, which libraries then take.

// Offsets of the kernel's seccomp_data. The lower half of an argument comes first
// on the processors that the filter knows.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// setIDs are the modes by which a file runs as its owner or group.
const setIDs = unix.S_ISUID | unix.S_ISGID

const newSpaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWCGROUP

// refused fail with EPERM whatever their arguments.
var refused = []uint32{
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT,
	unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_KEXEC_LOAD,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_FANOTIFY_INIT,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_OPEN_BY_HANDLE_AT,
}

// missing fail with ENOSYS: their arguments lie in memory, where no filter reads.
var missing = []uint32{unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_OPENAT2}

// modes are calls that give a file its mode, and the argument that does. Where
// flags is set, the mode counts only if a file is made.
type modes struct {
	nr          uint32
	mode, flags int
}

var settingModes = []modes{{unix.SYS_FCHMOD, 1, -1}, {unix.SYS_FCHMODAT, 2, -1}, {unix.SYS_FCHMODAT2, 2, -1}, {unix.SYS_MKNODAT, 2, -1},
	{unix.SYS_OPENAT, 3, 2}}

// metadata are the calls that change a file's metadata, which Landlock doesn't
// govern. Strict refuses them.
var metadata = []uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}

// signals are the calls that send one. Strict refuses them where Landlock is too
// old to keep them inside.
var signals = []uint32{
	unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_SEND_SIGNAL,
}

// strangers are calls that reach other processes and memory of the same user. Only namespaces
// for processes and IPC keep those apart. Landlock governs none of them.
var strangers = []uint32{
	unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET,
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMCTL, unix.SYS_SEMTIMEDOP, unix.SYS_SEMOP,
	unix.SYS_MSGGET, unix.SYS_MSGCTL, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// schedulers change how a process is run; their first argument names it, 0 the caller.
var schedulers = []uint32{unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETAFFINITY}

// fileFlags are the requests of ioctl that change a file's metadata through a file
// that is open for reading alone.
var fileFlags = []uint32{unix.FS_IOC_SETFLAGS, fsIOCSetXAttr, fsIOCSetVersion, unix.FS_IOC_ENABLE_VERITY, unix.FS_IOC_SET_ENCRYPTION_POLICY}

const (
	fsIOCSetXAttr   = 0x401c5820 // FS_IOC_FSSETXATTR
	fsIOCSetVersion = 0x40087602 // FS_IOC_SETVERSION
)

// filterNeeds says which filter is wanted.
type filterNeeds struct {
	spaces  bool // namespaces for processes and IPC keep strangers apart
	strict  bool // no sockets, no changes of metadata
	network bool // with strict: sockets of the internet are allowed
	abi     int  // Landlock's version, for what it leaves to strict
}

// filter is a seccomp program under construction.
type filter struct{ code []bpf.Instruction }

var (
	answerEPERM  = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	answerENOSYS = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
	answerKill   = bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}
	answerAllow  = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
)

// errNoFilter is a processor whose calls the filter doesn't know.
var errNoFilter = errors.New("there is no filter for " + runtime.GOARCH)

// buildFilter returns the filter as the kernel reads it.
func buildFilter(n filterNeeds) ([]byte, error) {
	if auditArch == 0 {
		return nil, errNoFilter
	}
	f := &filter{}
	f.checkArch()
	if n.strict {
		f.addStrict(n)
	}
	if !n.spaces {
		f.answerCalls(strangers, answerEPERM)
		for _, nr := range schedulers {
			f.refuseOthers(nr, 0)
		}
	}
	// A limit on processor time ends a process, PID 1 too, and asks no one but the
	// user's number.
	f.refuseOthers(unix.SYS_PRLIMIT64, 0)
	f.answerCalls(missing, answerENOSYS)
	f.answerCalls(slices.Concat(refused, oldRefused), answerEPERM)
	f.refuseMasked(unix.SYS_CLONE, 0, newSpaces)
	for _, m := range slices.Concat(settingModes, oldModes) {
		f.refuseSetIDs(m)
	}
	f.refuseEqual(unix.SYS_IOCTL, 1, unix.TIOCSTI, unix.TIOCLINUX)
	f.refuseOthers(unix.SYS_SOCKET, unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
	f.refuseOthers(unix.SYS_SOCKETPAIR, unix.AF_UNIX)
	f.code = append(f.code, answerAllow)
	return f.assemble()
}

func (f *filter) assemble() ([]byte, error) {
	raw, err := bpf.Assemble(f.code)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = binary.Write(&out, binary.NativeEndian, raw) // as struct sock_filter
	return out.Bytes(), err
}

func loadWord(offset uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offset, Size: 4} }

func lowHalfOffset(arg int) uint32 { return uint32(offsetArgs + 8*arg) } //nolint:gosec // arguments are 0 to 5

// checkArch kills calls of another processor's kind (int 0x80), and refuses those of x32.
// Their numbers have a bit of their own.
func (f *filter) checkArch() {
	ours := bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1}
	f.code = append(f.code, loadWord(offsetArch), ours, answerKill, loadWord(offsetNumber))
	if x32Bit != 0 {
		f.code = append(f.code, bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1}, answerENOSYS)
	}
}

// addStrict refuses what Landlock can't keep inside without namespaces.
func (f *filter) addStrict(n filterNeeds) {
	f.answerCalls(slices.Concat(metadata, oldMetadata), answerEPERM)
	f.refuseEqual(unix.SYS_IOCTL, 1, fileFlags...)
	if n.abi < isolate.FirstABIWithScope {
		f.answerCalls(signals, answerEPERM)
	}
	if n.abi < isolate.FirstABIWithTruncate {
		f.answerCalls([]uint32{unix.SYS_TRUNCATE}, answerEPERM)
	}
	if n.network {
		f.refuseOthers(unix.SYS_SOCKET, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
	} else {
		f.answerCalls([]uint32{unix.SYS_SOCKET}, answerEPERM)
	}
}

func (f *filter) answerCalls(numbers []uint32, answer bpf.RetConstant) {
	for _, nr := range numbers {
		f.code = append(f.code, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: nr, SkipTrue: 1}, answer)
	}
}

// addBlock adds what is done for one call alone; the number is loaded again
// after it.
func (f *filter) addBlock(nr uint32, block ...bpf.Instruction) {
	f.code = append(f.code, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: nr, SkipTrue: uint8(len(block) + 1)}) //nolint:gosec // blocks are short
	f.code = append(append(f.code, block...), loadWord(offsetNumber))
}

// refuseMasked refuses a call where an argument has one of the bits.
func (f *filter) refuseMasked(nr uint32, arg int, bits uint32) {
	f.addBlock(nr, loadWord(lowHalfOffset(arg)), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: bits, SkipTrue: 1}, answerEPERM)
}

// refuseSetIDs refuses a call that gives a file one of setIDs.
func (f *filter) refuseSetIDs(m modes) {
	if m.flags < 0 {
		f.refuseMasked(m.nr, m.mode, setIDs)
		return
	}
	const makesFile = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	f.addBlock(m.nr, loadWord(lowHalfOffset(m.flags)), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: makesFile, SkipTrue: 3},
		loadWord(lowHalfOffset(m.mode)), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: setIDs, SkipTrue: 1}, answerEPERM)
}

// refuseEqual refuses a call where the lower half of an argument is one of values.
func (f *filter) refuseEqual(nr uint32, arg int, values ...uint32) {
	block := []bpf.Instruction{loadWord(lowHalfOffset(arg))}
	for _, v := range values {
		block = append(block, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: v, SkipTrue: 1}, answerEPERM)
	}
	f.addBlock(nr, block...)
}

// refuseOthers refuses a call where the lower half of its first argument is none of values.
func (f *filter) refuseOthers(nr uint32, values ...uint32) {
	block := []bpf.Instruction{loadWord(lowHalfOffset(0))}
	for i, v := range values {
		block = append(block, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(values) - i)}) //nolint:gosec // a handful
	}
	f.addBlock(nr, append(block, answerEPERM)...)
}
