//go:build !unix

package sentinel

import (
	"io/fs"
	"os"
)

// openPlain opens a file or folder for reading.
func openPlain(path string) (*os.File, error) { return os.Open(path) }

// stampOf takes the stamp of a file. Here it knows neither device nor inode.
func stampOf(st fs.FileInfo) stamp {
	return stamp{kind: st.Mode().Type(), size: st.Size(), mtime: st.ModTime().UnixNano()}
}
