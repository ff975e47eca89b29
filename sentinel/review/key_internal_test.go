package review

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A key is the SHA-256 of its parts, each after its length in eight bytes. How much is copied
// at a time doesn't matter.
func TestKeyIsOfEveryByte(t *testing.T) {
	for n := range 3*digestBuffer + 20 {
		long := strings.Repeat("x", n)
		d := newDigest("kind")
		d.addText(long)
		d.addText("")
		d.addText("end")
		var want []byte
		for _, s := range []string{"kind", long, "", "end"} {
			want = append(binary.BigEndian.AppendUint64(want, uint64(len(s))), s...)
		}
		require.Equal(t, key(sha256.Sum256(want)), d.sumKey())
	}
}
