package sentinel

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/vedette-dev/vedette/sentinel/touch"
)

// The bounds of what is bound to an approval.
const (
	maxBound     = 16       // files
	maxBoundSize = 64 << 20 // bytes of one
)

// Bound is what a file that a call reads held when a person was asked. It is
// shown to them, and compared before the call runs.
type Bound struct {
	Arg  string `json:"arg"`
	Size int64  `json:"size"`
	// SHA256 is hex; empty where the content can't be bound: then the call is
	// approved by reference, whatever the file holds when it runs.
	SHA256 string `json:"sha256,omitempty"`
	// Missing is set where there is no such file.
	Missing bool `json:"missing,omitempty"`
}

// String says it in a line for a person.
func (b Bound) String() string {
	switch {
	case b.Missing:
		return "no such file"
	case b.SHA256 == "":
		return "by reference: what it holds when the call runs"
	}
	return fmt.Sprintf("%d bytes, sha256 %s", b.Size, b.SHA256[:16])
}

// bind takes down what the files hold that the call's own path arguments read.
func bind(c Call) []Bound {
	var out []Bound
	for _, p := range c.touch.Paths {
		if p.Declared && p.Access.Has(touch.Read) && len(out) < maxBound {
			out = append(out, bindFile(p))
		}
	}
	return out
}

func bindFile(p touch.Path) Bound {
	b := Bound{Arg: p.Arg}
	st, err := os.Stat(p.Real)
	if errors.Is(err, fs.ErrNotExist) {
		b.Missing = true
		return b
	}
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxBoundSize {
		return b
	}
	f, err := os.Open(p.Real)
	if err != nil {
		return b
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxBoundSize))
	if err != nil {
		return b
	}
	b.Size, b.SHA256 = n, hex.EncodeToString(h.Sum(nil))
	return b
}
