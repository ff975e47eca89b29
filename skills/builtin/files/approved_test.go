package files

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

// approvedDo runs an operation whose path a person approved as it was when it held content.
// A nil content is a file that was not there.
func (d *desk) approvedDo(t *testing.T, op string, content *string, a args) (skills.Result, error) {
	t.Helper()
	f := skills.ApprovedFile{Arg: "path", Missing: content == nil}
	if content != nil {
		sum := sha256.Sum256([]byte(*content))
		f.SHA256, f.Size = hex.EncodeToString(sum[:]), int64(len(*content))
	}
	s := d.skills["files."+op]
	o := runtest.Order(t, s, a)
	ctx := skills.WithApproved(t.Context(), []skills.ApprovedFile{f})
	return d.execs["files."+op].Execute(ctx, d.Issue(t, o), o)
}

// A skill reads, replaces and puts away what a person approved, or does nothing.
func TestOnlyWhatWasApproved(t *testing.T) {
	shown := "one shown text"
	for op, a := range map[string]args{
		"read": {"path": "f", "offset": 4, "max_bytes": 5}, "write": {"path": "f", "content": "new"},
		"update": {"path": "f", "find": "shown", "replace": "new"}, "archive": {"path": "f"},
	} {
		t.Run(op, func(t *testing.T) {
			d := open(t, nil)
			d.put(t, "f", "one OTHER shown text")
			before := d.tree(t)
			_, err := d.approvedDo(t, op, &shown, a)
			require.ErrorIs(t, err, skills.ErrChanged)
			var f *skills.Failure
			require.ErrorAs(t, err, &f)
			require.False(t, f.Unknown, "nothing was done, and that is known")
			_, err = d.approvedDo(t, op, nil, a)
			require.ErrorIs(t, err, skills.ErrChanged, "nothing was there when it was approved")
			require.Equal(t, before, d.tree(t))

			d.put(t, "f", shown)
			res, err := d.approvedDo(t, op, &shown, a)
			require.NoError(t, err)
			if op == "read" {
				require.Equal(t, "shown", res.Content)
			}
		})
	}
	t.Run("a file that was there is gone", func(t *testing.T) {
		d := open(t, nil)
		_, err := d.approvedDo(t, "write", &shown, args{"path": "f", "content": "new"})
		require.ErrorIs(t, err, skills.ErrChanged)
		_, err = os.Stat(filepath.Join(d.root, "f"))
		require.ErrorIs(t, err, os.ErrNotExist)
		_, err = d.approvedDo(t, "write", nil, args{"path": "f", "content": "new"})
		require.NoError(t, err)
	})
}
