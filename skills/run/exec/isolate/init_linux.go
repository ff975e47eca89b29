package isolate

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lastSignal is the greatest number of a signal.
const lastSignal = 64

// sigsetSize is the size of the kernel's set of signals.
const sigsetSize = 8

// birth is all that PID 1 needs, written down before it exists.
type birth struct {
	first   []call // what PID 1 does to itself
	program []call // what its child does to become the program
	last    []call // what PID 1 does when the program runs
	// Messages that are filled in after the fork.
	failed  [8]byte
	started [8]byte
	ended   [8]byte
	status  uint32
}

// becomeProgram is the end of a child without a process namespace. It returns
// only where something failed.
func becomeProgram(p *Plan, set ruleset) error {
	var s script
	s.addCall(StepDir, unix.SYS_CHDIR, s.addressOfText(p.Dir))
	if err := s.stripPrivileges(p, set); err != nil {
		return err
	}
	s.limitResources(p)
	s.execProgram(p)
	if _, err := unix.Write(lineFile, []byte{kindReady}); err != nil {
		return failAtStep(StepStart, err)
	}
	_, step, errno := runScript(s.calls)
	runtime.KeepAlive(s)
	return &Failed{Step: step, Errno: errno}
}

// startInit makes PID 1 of a process namespace and ends with it. It returns only
// where there is none.
func startInit(p *Plan, set ruleset) error {
	first, program, last := &script{}, &script{}, &script{}
	first.protectInit()
	first.limitNumbers(p)
	if p.Tree {
		first.enterTree(p, set)
	}
	first.addCall(StepDir, unix.SYS_CHDIR, first.addressOfText(p.Dir))
	if err := first.stripPrivileges(p, set); err != nil {
		return err
	}
	// From here on the program may run, also where A is killed before A tells so.
	first.addCall(StepInit, unix.SYS_WRITE, lineFile, addressOf(first, &[1]byte{kindReady}), 1)
	// No handler of A's may run in a process without its runtime.
	all, old := ^uint64(0), uint64(0)
	if err := setSignals(&all, &old); err != nil {
		return failAtStep(StepInit, err)
	}
	program.addCall(StepProgram, unix.SYS_SETSID).may = true
	program.limitResources(p)
	program.addCall(StepInit, unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, addressOf(program, &old), 0, sigsetSize)
	program.execProgram(p)
	for fd := uintptr(0); fd <= 2; fd++ {
		last.addCall(StepInit, unix.SYS_CLOSE, fd).may = true
	}
	b := &birth{first: first.calls, program: program.calls, last: last.calls}
	pid, errno := forkInit(b)
	runtime.KeepAlive([]*script{first, program, last})
	if errno != 0 {
		return failAtStep(StepClone, fmt.Errorf("make a process namespace: %w", errno))
	}
	_ = setSignals(&old, nil)
	awaitInitEnd(pid)
	syscall.Exit(0)
	return nil
}

// protectInit adds what PID 1 does about itself. It ends with A, can't be looked into, and has
// no handlers, so that the kernel drops every signal from within.
func (s *script) protectInit() {
	s.addCall(StepInit, unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	// Where Vedette is gone already, this fails.
	s.addCall(StepInit, unix.SYS_WRITE, lineFile, addressOf(s, &[1]byte{kindAlive}), 1)
	s.passInitFile()
	s.addCall(StepInit, unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0)
	standard := addressOf(s, &[4]uint64{})
	for sig := uintptr(1); sig <= lastSignal; sig++ {
		s.addCall(StepInit, unix.SYS_RT_SIGACTION, sig, standard, 0, sigsetSize).may = true
	}
}

// passInitFile hands Vedette a file that says when PID 1 has ended. The kernel says so
// after the last process of the namespace is gone; the line closes before that.
func (s *script) passInitFile() {
	message := &initMessage{}
	message.data[0] = kindInit
	message.part = unix.Iovec{Base: &message.data[0], Len: 1}
	message.right.SetLen(unix.CmsgLen(4))
	message.right.Level, message.right.Type = unix.SOL_SOCKET, unix.SCM_RIGHTS
	message.head = unix.Msghdr{Iov: &message.part, Iovlen: 1, Control: (*byte)(unsafe.Pointer(&message.right))}
	message.head.SetControllen(unix.CmsgSpace(4))
	open := s.addCall(StepInit, unix.SYS_PIDFD_OPEN, 1, 0)
	open.save, open.may, open.skip = &message.fd, true, 1 // before Linux 5.3
	addressOf(s, message)
	s.addCall(StepInit, unix.SYS_SENDMSG, lineFile, uintptr(unsafe.Pointer(&message.head)), unix.MSG_NOSIGNAL)
}

// initMessage is a message with one file, as the kernel reads it.
type initMessage struct {
	head  unix.Msghdr
	part  unix.Iovec
	right unix.Cmsghdr
	fd    int32 // follows right
	_     int32
	data  [1]byte
}

// limitNumbers adds the bound on processes that holds for root too. A tree has a whole /proc
// for it, which is gone before the program's own is mounted. Without a tree it is written
// through the system's, where the kernel heeds the writer's namespace.
func (s *script) limitNumbers(p *Plan) {
	if p.Numbers == 0 {
		return
	}
	if !p.Tree {
		s.writeNumbers(p, "/proc")
		return
	}
	none, kind, place := s.addressOfText(""), s.addressOfText("proc"), s.addressOfText(Stage+"/proc")
	mount := s.addCall(StepLimits, unix.SYS_MOUNT, kind, place, kind, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, none)
	mount.may, mount.skip, mount.flag = true, 4, flagNoBound
	s.writeNumbers(p, Stage+"/proc")
	s.addCall(StepLimits, unix.SYS_UMOUNT2, place, unix.MNT_DETACH)
}

// writeNumbers adds three calls that write the bound through a /proc.
func (s *script) writeNumbers(p *Plan, proc string) {
	fd := new(int32)
	open := s.addCall(StepLimits, unix.SYS_OPENAT, ^uintptr(99), s.addressOfText(proc+"/sys/kernel/pid_max"), unix.O_WRONLY|unix.O_CLOEXEC)
	open.save, open.may, open.skip, open.flag = fd, true, 2, flagNoBound
	value := s.addressOfText(strconv.FormatInt(p.Numbers, 10))
	write := s.addCall(StepLimits, unix.SYS_WRITE, 0, value, uintptr(len(strconv.FormatInt(p.Numbers, 10))))
	write.on, write.may, write.flag = fd, true, flagNoBound
	s.addCall(StepLimits, unix.SYS_CLOSE, 0).on = fd
}

// enterTree adds /proc and makes the stage the root. It lets go of the old root and closes the
// new one to writing outside the rules.
func (s *script) enterTree(p *Plan, set ruleset) {
	s.mountProc(p, set)
	here, none, root := s.addressOfText("."), s.addressOfText(""), s.addressOfText("/")
	s.addCall(StepMounts, unix.SYS_CHDIR, s.addressOfText(Stage))
	s.addCall(StepMounts, unix.SYS_PIVOT_ROOT, here, here)
	s.addCall(StepMounts, unix.SYS_UMOUNT2, here, unix.MNT_DETACH)
	s.addCall(StepMounts, unix.SYS_CHDIR, root)
	s.addCall(StepMounts, unix.SYS_MOUNT, none, root, none, unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, none)
}

// mountProc adds a /proc of the own process namespace. The system's would show
// every process, and lets uid 0 open settings of the kernel for writing.
func (s *script) mountProc(p *Plan, set ruleset) {
	flags, data := uintptr(unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC), "subset=pid,hidepid=4"
	whole := p.Proc == ProcWhole
	if whole {
		flags, data = flags|unix.MS_RDONLY, "hidepid=4"
	}
	kind, place := s.addressOfText("proc"), s.addressOfText(Stage+"/proc")
	mount := s.addCall(StepProc, unix.SYS_MOUNT, kind, place, kind, flags, s.addressOfText(data))
	mount.may, mount.skip, mount.flag = !whole, 2, flagNoProc
	attr := &unix.LandlockPathBeneathAttr{Allowed_access: readRights & set.known}
	s.addCall(StepProc, unix.SYS_OPENAT, ^uintptr(99), place, unix.O_PATH|unix.O_CLOEXEC).save = &attr.Parent_fd
	s.addCall(StepLandlock, unix.SYS_LANDLOCK_ADD_RULE, uintptr(set.fd), unix.LANDLOCK_RULE_PATH_BENEATH, addressOf(s, attr), 0)
}

// setSignals sets the thread's set of blocked signals, and reads what it was.
func setSignals(now, was *uint64) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(now)),
		uintptr(unsafe.Pointer(was)), sigsetSize, 0, 0)
	if errno != 0 {
		return fmt.Errorf("block signals: %w", errno)
	}
	return nil
}

// forkInit makes PID 1, and returns its number in A alone.
//
//go:norace
//go:nosplit
//go:noinline
func forkInit(b *birth) (pid int, errno syscall.Errno) {
	r, _, e := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.CLONE_NEWPID)|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 || r != 0 {
		return int(r), e
	}
	runAsInit(b)
	return 0, 0
}

// runAsInit is PID 1. It never returns.
//
//go:norace
//go:nosplit
func runAsInit(b *birth) {
	flags, step, errno := runScript(b.first)
	if errno != 0 {
		failInChild(b, step, errno)
	}
	// It goes on when the child has become the program, or has ended.
	child, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.CLONE_VFORK)|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		failInChild(b, StepInit, errno)
	}
	if child == 0 {
		_, step, errno = runScript(b.program)
		failInChild(b, step, errno)
	}
	b.started[0], b.started[1] = kindStarted, flags
	writeLine(unsafe.Pointer(&b.started), 2)
	_, _, _ = runScript(b.last)
	reapUntil(b, child)
}

// reapUntil reaps every process of the namespace until the program has ended, tells how it
// did, and ends. The kernel then kills what is left.
//
//go:norace
//go:nosplit
func reapUntil(b *birth, child uintptr) {
	for {
		r, _, errno := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&b.status)), unix.WALL, 0, 0, 0)
		if errno != 0 && errno != unix.EINTR {
			break
		}
		if r == child && errno == 0 {
			b.ended[0] = kindEnded
			spellNumber(&b.ended, 1, b.status)
			writeLine(unsafe.Pointer(&b.ended), 5)
			break
		}
	}
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 0, 0, 0, 0, 0, 0)
	}
}

// spellNumber writes a number into a message, its lowest byte first.
//
//go:norace
//go:nosplit
func spellNumber(b *[8]byte, at int, n uint32) {
	for i := at; i < at+4; i++ {
		b[i&7], n = byte(n), n>>8
	}
}

//go:norace
//go:nosplit
func failInChild(b *birth, step Step, errno syscall.Errno) {
	b.failed[0], b.failed[1] = kindFailed, byte(step)
	spellNumber(&b.failed, 2, uint32(errno))
	writeLine(unsafe.Pointer(&b.failed), 6)
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT_GROUP, exitFailed, 0, 0, 0, 0, 0)
	}
}

//go:norace
//go:nosplit
func writeLine(p unsafe.Pointer, n uintptr) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_WRITE, lineFile, uintptr(p), n, 0, 0, 0)
}

// awaitInitEnd returns when PID 1 has ended.
func awaitInitEnd(pid int) {
	for {
		if _, err := unix.Wait4(pid, nil, unix.WALL, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
