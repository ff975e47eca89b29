package isolate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Step names a part of the child's work, so that a failure can be told with its
// remedy. The numbers travel between two processes of one binary only.
type Step uint8

// The steps, in the order in which they are made.
const (
	StepStart Step = iota // the child ended before it said why
	StepClone
	StepMounts
	StepWriteRoot
	StepNetwork
	StepProc
	StepInit
	StepLandlock
	StepPrivileges
	StepSeccomp
	StepLimits
	StepDir
	StepProgram
)

var stepNames = [...]string{
	"start", "clone", "mounts", "write root", "network", "proc", "init", "landlock", "privileges", "seccomp", "limits",
	"working directory", "program",
}

// String returns the step's name, as errors and doctor write it.
func (s Step) String() string {
	if int(s) >= len(stepNames) {
		return "unknown"
	}
	return stepNames[s]
}

// The kinds of message on the line.
const (
	kindAlive     = 'a' // PID 1 exists
	kindReady     = 'r' // the child is about to become the program, or to make it
	kindFailed    = 'f' // a step, an errno, and words where the child had some
	kindStarted   = 's' // the program runs; one byte of flags
	kindListeners = 'l' // listeners ride along
	kindInit      = 'i' // PID 1's pidfd rides along
	kindEnded     = 'x' // the program's wait status
)

// The flags of a start.
const (
	flagNoProc  = 1 // the tree has no /proc
	flagNoBound = 2 // Plan.Numbers could not be set
)

// maxListeners is the greatest number of files that one message carries.
const maxListeners = 64

// Failed is a step that failed, as the child told it.
type Failed struct {
	Step  Step
	Errno syscall.Errno // 0 where no system call failed
	Text  string        // the child's own words, if any; no value of a call
}

// Error returns the step and what the system said.
func (f *Failed) Error() string { return f.Step.String() + ": " + f.Words() }

// Words is what the child or the system said, without the step.
func (f *Failed) Words() string {
	switch {
	case f.Text != "":
		return f.Text
	case f.Errno != 0:
		return f.Errno.Error()
	}
	return "it failed"
}

// Unwrap returns the system's error.
func (f *Failed) Unwrap() error {
	if f.Errno == 0 {
		return nil
	}
	return f.Errno
}

// failAtStep marks an error with its step.
func failAtStep(s Step, err error) error {
	if err == nil {
		return nil
	}
	f := &Failed{Step: s, Text: err.Error()}
	_ = errors.As(err, &f.Errno)
	return f
}

// Message is one thing that the child said.
type Message struct {
	// Failed is the step that failed, if one did.
	Failed *Failed
	// Started says that the program runs. NoProc says that its tree has no /proc, and NoBound
	// that its process numbers could not be bounded.
	Started, NoProc, NoBound bool
	// Ready says that the program is next: from then on it may have run.
	Ready bool
	// Listeners are files made in the network namespace; the receiver owns them.
	Listeners []int
	// Init is PID 1's pidfd; the receiver owns it. Empty in every other message.
	Init []int
	// Ended is how the program ended.
	Ended *syscall.WaitStatus
}

// Receive reads the child's next message from the line, and blocks until there is one. The
// result ok is false when the child's end is closed.
func Receive(line int) (m Message, ok bool, err error) {
	buf, rights := make([]byte, 1024), make([]byte, unix.CmsgSpace(4*maxListeners))
	n, more, err := receiveMessage(line, buf, rights)
	if err != nil {
		return m, false, fmt.Errorf("read the child's line: %w", err)
	}
	if n == 0 {
		return m, false, nil
	}
	if more > 0 {
		if m.Listeners, err = filesInMessage(rights[:more]); err != nil {
			return m, false, err
		}
	}
	buf = buf[:n]
	switch {
	case buf[0] == kindInit:
		m.Init, m.Listeners = m.Listeners, nil
	case buf[0] == kindReady:
		m.Ready = true
	case buf[0] == kindStarted && n >= 2:
		m.Started, m.NoProc, m.NoBound = true, buf[1]&flagNoProc != 0, buf[1]&flagNoBound != 0
	case buf[0] == kindFailed && n >= 6:
		m.Failed = &Failed{Step: Step(buf[1]), Errno: syscall.Errno(binary.LittleEndian.Uint32(buf[2:])), Text: string(buf[6:])}
	case buf[0] == kindEnded && n >= 5:
		status := syscall.WaitStatus(binary.LittleEndian.Uint32(buf[1:]))
		m.Ended = &status
	case buf[0] != kindListeners && buf[0] != kindAlive:
		return m, false, errors.New("the child said what no child says")
	}
	return m, true, nil
}

func receiveMessage(line int, buf, rights []byte) (n, more int, err error) {
	for {
		n, more, _, _, err = unix.Recvmsg(line, buf, rights, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			return n, more, err
		}
	}
}

func filesInMessage(rights []byte) (out []int, err error) {
	all, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	for i := range all {
		fds, err := unix.ParseUnixRights(&all[i])
		if err != nil {
			return nil, err
		}
		out = append(out, fds...)
	}
	return out, nil
}

// sendFailure tells why the child can't go on.
func sendFailure(err error) {
	var f *Failed
	if !errors.As(err, &f) {
		f = &Failed{Step: StepStart, Text: err.Error()}
	}
	b := append([]byte{kindFailed, byte(f.Step)}, binary.LittleEndian.AppendUint32(nil, uint32(f.Errno))...)
	b = append(b, f.Text[:min(len(f.Text), 900)]...)
	_, _ = unix.Write(lineFile, b)
}

// sendListeners passes files to Vedette and closes the child's copies.
func sendListeners(fds []int) error {
	if len(fds) > maxListeners {
		return fmt.Errorf("%d listeners are more than %d", len(fds), maxListeners)
	}
	if err := unix.Sendmsg(lineFile, []byte{kindListeners}, unix.UnixRights(fds...), nil, 0); err != nil {
		return fmt.Errorf("pass the listeners: %w", err)
	}
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
	return nil
}
