package isolate

import "golang.org/x/sys/unix"

// SetupCaps lists the capabilities that an ordinary user's child needs in its
// user namespace until it has given them all up. Exec takes the others away.
func SetupCaps(p Plan) []uintptr {
	caps := []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
	if p.OwnNet {
		caps = append(caps, unix.CAP_NET_ADMIN)
	}
	if p.Overlay {
		caps = append(caps, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN, unix.CAP_FSETID)
	}
	return caps
}
