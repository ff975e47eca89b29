package hook

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vedette-dev/vedette/internal/textcut"
)

// maxPrompt bounds a prompt that is kept, in bytes.
const maxPrompt = 256 << 10

// prompts are the newest prompts of sessions, a file each, for their user alone.
type prompts struct{ folder string }

// write keeps the newest prompt of a session.
func (p prompts) write(session, text string) error {
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return errors.New("the folder for prompts can't be made")
	}
	f, err := os.CreateTemp(p.folder, ".new-*") // 0600, and a new file each time: no link is followed
	if err != nil {
		return errors.New("the prompt can't be kept")
	}
	_, err = f.WriteString(textcut.Head(text, maxPrompt))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(p.folder, session))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it may be gone
		return errors.New("the prompt can't be kept")
	}
	return nil
}

// read returns the newest prompt of a session, empty where there is none.
func (p prompts) read(session string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(p.folder, session)) // session is an id: see readEvent
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", errors.New("the session's prompt can't be read")
	}
	return string(raw), nil
}
