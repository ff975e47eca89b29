package assembly

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
)

// maxSocketPath is what fits into a socket's address on every system.
const maxSocketPath = 100

// SocketPath returns where a process that uses the database at db listens:
// beside it, or, where that path is too long for a socket, in a folder of the
// user's own among the temporary files.
func SocketPath(db string) string {
	abs, err := filepath.Abs(db)
	if err != nil {
		abs = db
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	if p := abs + ".sock"; len(p) <= maxSocketPath {
		return p
	}
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join("/tmp", "vedette-"+strconv.Itoa(os.Getuid()), hex.EncodeToString(sum[:12])+".sock")
}
