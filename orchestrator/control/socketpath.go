package control

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
)

// maxSocketPath is what fits into a socket's address on every system.
const maxSocketPath = 100

// SocketPath returns where a process that uses the database at db listens. The socket
// stands beside the database. Where that path is too long for a socket, it stands among
// the temporary files, in a folder of the database's owner.
func SocketPath(db string) string {
	abs, err := filepath.Abs(db)
	if err != nil {
		abs = db
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	} else if folder, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil { // its first file may be elsewhere
		abs = filepath.Join(folder, filepath.Base(abs))
	}
	if p := abs + ".sock"; len(p) <= maxSocketPath {
		return p
	}
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join("/tmp", "vedette-"+strconv.Itoa(DatabaseOwner(abs)), hex.EncodeToString(sum[:12])+".sock")
}

// DatabaseOwner returns the id of the user whose database is at db. Where there is no
// database yet, it is this process's user.
func DatabaseOwner(db string) int {
	for _, path := range []string{db, db + ".d"} { // its first file, and the folder of those that follow
		if info, err := os.Stat(path); err == nil {
			if uid := ownerOf(info); uid >= 0 {
				return uid
			}
		}
	}
	return os.Getuid()
}
