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

// prompts are the newest prompts of sessions, and the calls of theirs that run, a file each, for their user
// alone.
type prompts struct{ folder string }

// write keeps the newest prompt of a session.
func (p prompts) write(session, text string) error {
	return p.keep(session, textcut.Head(text, maxPrompt))
}

// read returns the newest prompt of a session, empty where there is none.
func (p prompts) read(session string) (string, error) { return p.find(session) }

// callFile names the file of a call. No id has a dot, so it is no session's.
func callFile(session, use string) string { return session + "." + use }

// writeCall keeps the server's id of a call until its outcome is reported.
func (p prompts) writeCall(session, use, id string) error { return p.keep(callFile(session, use), id) }

// readCall returns the server's id of a call, empty where none is kept.
func (p prompts) readCall(session, use string) (string, error) {
	return p.find(callFile(session, use))
}

// forgetCall drops a call that was reported.
func (p prompts) forgetCall(session, use string) {
	_ = os.Remove(filepath.Join(p.folder, callFile(session, use))) // it may be gone
}

// keep writes a file. Its name is made of ids: see readEvent.
func (p prompts) keep(name, text string) error {
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return errors.New("the folder for prompts can't be made")
	}
	f, err := os.CreateTemp(p.folder, ".new-*") // 0600, and a new file each time: no link is followed
	if err != nil {
		return errors.New("the folder for prompts can't be written to")
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(p.folder, name))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it may be gone
		return errors.New("the folder for prompts can't be written to")
	}
	return nil
}

// find reads a file, empty where there is none.
func (p prompts) find(name string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(p.folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", errors.New("the folder for prompts can't be read")
	}
	return string(raw), nil
}
