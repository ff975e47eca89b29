//go:build linux && !amd64 && !arm64

package exec

// There is no filter for this processor yet, so nothing but none can be had.
const (
	auditArch = 0
	x32Bit    = 0
)

var (
	oldRefused  []uint32
	oldModes    []modes
	oldMetadata []uint32
)
