package skills

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// ErrWithdrawn is the cause of a context (context.Cause) that ends because the
// call under it is wanted no more: its agent was cancelled, or its turn or
// conversation has ended, and that is on record. A call that waits for a person
// ends with it. One whose context ends for any other cause is left held.
var ErrWithdrawn = errors.New("the call was withdrawn: its agent, turn or conversation has ended")

// ErrChanged is a call that a person approved and that did not run, for a file or folder has
// changed. Nothing was done. A new call is judged, and asked about, as things are then.
var ErrChanged = fmt.Errorf("a file or folder has changed since the call was approved: %w", ErrNoEffect)

// ApprovedFile is what a path argument of a call led to when a person approved it.
type ApprovedFile struct {
	// Arg is the argument that named it.
	Arg string
	// Path is absolute, symbolic links resolved.
	Path string
	// Size in bytes and SHA256, in hex, are a file's. A folder has neither.
	Size   int64
	SHA256 string
	Folder bool
	// Missing is set where nothing was there.
	Missing bool
}

type approvedKey struct{}

// WithApproved returns a context that carries what a person approved. The
// checkpoint makes it; skills read it with Approved and CheckApproved.
func WithApproved(ctx context.Context, files []ApprovedFile) context.Context {
	if len(files) == 0 {
		return ctx
	}
	return context.WithValue(ctx, approvedKey{}, files)
}

// Approved returns what the argument led to when a person approved the call.
// The list is empty where no person was asked, or the skill is by_reference. It
// has several entries where the text can be read as several paths.
func Approved(ctx context.Context, arg string) []ApprovedFile {
	all, _ := ctx.Value(approvedKey{}).([]ApprovedFile)
	var out []ApprovedFile
	for _, f := range all {
		if f.Arg == arg {
			out = append(out, f)
		}
	}
	return out
}

// CheckApproved holds a file's content against what a person approved. arg is the argument
// that names the file, and content what the skill takes for the file's. It returns ErrChanged
// where they differ, content's error where it can't be read, and nil where no person was asked
// about the argument. A skill uses what it has checked, and does not open the file again.
func CheckApproved(ctx context.Context, arg string, content io.Reader) error {
	list := Approved(ctx, arg)
	if len(list) == 0 {
		return nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, content); err != nil {
		return err
	}
	digest := hex.EncodeToString(h.Sum(nil))
	for _, f := range list {
		if !f.Missing && !f.Folder && f.SHA256 == digest {
			return nil
		}
	}
	return ErrChanged
}

// CheckApprovedMissing is CheckApproved for a skill that found nothing where the
// argument leads: ErrChanged where a person approved a call on something there.
func CheckApprovedMissing(ctx context.Context, arg string) error {
	list := Approved(ctx, arg)
	for _, f := range list {
		if f.Missing {
			return nil
		}
	}
	if len(list) > 0 {
		return ErrChanged
	}
	return nil
}
