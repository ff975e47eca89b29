package exec

import (
	"errors"
	"fmt"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The system calls are used by themselves rather than through the library's
// Config, which restricts every thread of the process. The thread that we are
// on is about to become the program and is the only one that counts; and in a
// process namespace under a /proc of the old one the others can't be found, so
// that the library would wait for them for ever.

const (
	filesOnly  = ll.AccessFSExecute | ll.AccessFSReadFile
	readRights = filesOnly | ll.AccessFSReadDir
	// Device nodes aside: nobody needs to make those.
	writeFile   = ll.AccessFSWriteFile | ll.AccessFSTruncate
	writeRights = writeFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg |
		ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
)

// handled returns all that a Landlock version can refuse: what is named here
// and not allowed by a rule is refused.
func handled(abi int, network bool) ll.RulesetAttr {
	a := ll.RulesetAttr{HandledAccessFS: ll.AccessFSRefer - 1} // the thirteen of version 1
	for _, v := range []struct {
		since  int
		rights uint64
	}{{2, ll.AccessFSRefer}, {3, ll.AccessFSTruncate}, {5, ll.AccessFSIoctlDev}, {9, ll.AccessFSResolveUnix}} {
		if abi >= v.since {
			a.HandledAccessFS |= v.rights
		}
	}
	if abi >= firstABIWithTCP && !network {
		a.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
		if abi >= 10 {
			a.HandledAccessNet |= ll.AccessNetBindUDP | ll.AccessNetConnectSendUDP
		}
	}
	if abi >= 6 {
		a.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	return a
}

// restrict applies Landlock to this thread as far as the kernel's version goes;
// that there is one was checked by the parent.
func restrict(rules []rule, network bool) error {
	abi := landlockABI()
	if abi == 0 {
		return errors.New("this kernel has no Landlock")
	}
	attr := handled(abi, network)
	set, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("make a Landlock ruleset: %w", err)
	}
	defer func() { _ = unix.Close(set) }()
	for _, r := range rules {
		if err := allow(set, r, attr.HandledAccessFS); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if err := ll.LandlockRestrictSelf(set, 0); err != nil {
		return fmt.Errorf("apply Landlock: %w", err)
	}
	return nil
}

func allow(set int, r rule, known uint64) error {
	rights := uint64(filesOnly)
	switch {
	case r.dir && r.write:
		rights = readRights | writeRights
	case r.dir:
		rights = readRights
	case r.write:
		rights = filesOnly | writeFile
	}
	fd, err := unix.Open(r.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a path to allow: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := ll.LandlockAddPathBeneathRule(set, &ll.PathBeneathAttr{AllowedAccess: rights & known, ParentFd: fd}, 0); err != nil {
		return fmt.Errorf("allow a path: %w", err)
	}
	return nil
}
