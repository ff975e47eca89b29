package isolate

import "golang.org/x/sys/unix"

// SetupCaps lists the capabilities that an ordinary user's child needs in its user namespace
// at first. Exec takes the others away.
func SetupCaps(p Plan) []uintptr {
	caps := []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
	if p.OwnNet {
		caps = append(caps, unix.CAP_NET_ADMIN)
	}
	if p.Egress != nil {
		caps = append(caps, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE)
	}
	if p.Snapshot != nil {
		caps = append(caps, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN, unix.CAP_FSETID)
	}
	return caps
}
