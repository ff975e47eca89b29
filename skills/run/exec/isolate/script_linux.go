package isolate

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is one system call, written down in advance. After a fork there is no Go
// runtime to rely on: no memory to be had, no other thread, no growing stack.
type call struct {
	nr   uintptr
	args [6]uintptr
	step Step
	// save, if set, takes the result; on, if set, gives the first argument.
	save, on *int32
	// may says that the call may fail. Then the next skip calls are left out and the script's
	// flag is set where flag is.
	may  bool
	skip int
	flag uint8
}

// script is a list of system calls, with what they point to.
type script struct {
	calls []call
	keep  []any // keeps alive and in place what the calls point to
}

func (s *script) addCall(step Step, nr uintptr, args ...uintptr) *call {
	c := call{nr: nr, step: step}
	copy(c.args[:], args)
	s.calls = append(s.calls, c)
	return &s.calls[len(s.calls)-1]
}

// addressOfText returns the address of a text that ends with a NUL.
func (s *script) addressOfText(text string) uintptr {
	b := append([]byte(text), 0)
	s.keep = append(s.keep, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// addressOfTexts returns the address of a list of such addresses that ends with nil.
func (s *script) addressOfTexts(texts []string) uintptr {
	list := make([]uintptr, 0, len(texts)+1)
	for _, t := range texts {
		list = append(list, s.addressOfText(t))
	}
	list = append(list, 0)
	s.keep = append(s.keep, list)
	return uintptr(unsafe.Pointer(&list[0]))
}

// addressOf returns the address of a value on the heap.
func addressOf[T any](s *script, v *T) uintptr {
	s.keep = append(s.keep, v)
	return uintptr(unsafe.Pointer(v))
}

// runScript makes the calls and stops at the first that fails and may not.
//
//go:norace
//go:nosplit
func runScript(calls []call) (flags uint8, step Step, errno syscall.Errno) {
	for i := 0; i < len(calls); i++ {
		c := &calls[i]
		if c.on != nil {
			c.args[0] = uintptr(*c.on)
		}
		r, _, e := syscall.RawSyscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		switch {
		case e == 0 && c.save != nil:
			*c.save = int32(r)
		case e == 0:
		case c.may:
			i += c.skip
			flags |= c.flag
		default:
			return flags, c.step, e
		}
	}
	return flags, 0, 0
}

// stripPrivileges adds the calls that leave a program no privilege to use or get back. That
// holds for root and for the root of a user namespace.
func (s *script) stripPrivileges(p *Plan, set ruleset) error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		// Without CAP_SETPCAP this is refused; no_new_privs below then keeps
		// the bounding set from mattering.
		s.addCall(StepPrivileges, unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c).may = true
	}
	s.addCall(StepPrivileges, unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL).may = true
	s.addCall(StepPrivileges, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	s.addCall(StepLandlock, unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(set.fd), 0)
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	s.addCall(StepPrivileges, unix.SYS_CAPSET, addressOf(s, header), addressOf(s, &[2]unix.CapUserData{}))
	if len(p.Filter) == 0 || len(p.Filter)%unix.SizeofSockFilter != 0 {
		return failAtStep(StepSeccomp, errNoFilter)
	}
	filter := make([]unix.SockFilter, len(p.Filter)/unix.SizeofSockFilter)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&filter[0])), len(p.Filter)), p.Filter)
	s.keep = append(s.keep, filter)
	program := &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // a filter has a few hundred instructions
	s.addCall(StepSeccomp, unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, addressOf(s, program))
	return nil
}

// limitResources adds the limits of the program.
func (s *script) limitResources(p *Plan) {
	// A core dump would hold arguments.
	for _, l := range append([]Limit{{Resource: unix.RLIMIT_CORE}}, p.Limits...) {
		s.addCall(StepLimits, unix.SYS_PRLIMIT64, 0, uintptr(l.Resource), addressOf(s, &unix.Rlimit{Cur: l.Value, Max: l.Value}), 0)
	}
}

// execProgram adds the call that is the program. It gets its three standard files
// and none that Vedette was started with.
func (s *script) execProgram(p *Plan) {
	s.addCall(StepProgram, unix.SYS_CLOSE_RANGE, 3, uintptr(^uint32(0)), unix.CLOSE_RANGE_CLOEXEC)
	s.addCall(StepProgram, unix.SYS_EXECVE, s.addressOfText(p.Path), s.addressOfTexts(p.Argv), s.addressOfTexts(p.Env))
}
