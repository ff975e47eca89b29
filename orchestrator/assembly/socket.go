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
// beside it, or, where that path is too long for a socket, among the temporary
// files in a folder of the user whose database it is.
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
	return filepath.Join("/tmp", "vedette-"+strconv.Itoa(Owner(abs)), hex.EncodeToString(sum[:12])+".sock")
}

// Owner returns the id of the user whose database it is: of this process's,
// where there is none yet.
func Owner(db string) int {
	if info, err := os.Stat(db); err == nil {
		if uid, ok := ownerOf(info); ok {
			return uid
		}
	}
	return os.Getuid()
}
