package demo

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

//go:embed vedette.yaml skills workspace mail
var files embed.FS

//go:embed script.yaml
var script []byte

// prepareFolder writes configuration, workspace and mailbox into dir.
func prepareFolder(dir string) (string, error) {
	if dir == "" {
		tmp, err := os.MkdirTemp("", "vedette-demo-")
		if err != nil {
			return "", err
		}
		dir = tmp
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		return "", fmt.Errorf("%s is not an empty folder; name another with --dir", dir)
	}
	for _, sub := range []string{"new", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, "mailbox", sub), 0o700); err != nil {
			return "", err
		}
	}
	return dir, fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		return writeFile(filepath.Join(dir, placeOfFile(name)), data)
	})
}

// unplayable is why a demo could not even begin in its folder.
type unplayable struct {
	dir string
	err error
}

func (u *unplayable) Error() string {
	return fmt.Sprintf("%s can't be played in; name another with --dir: %s", u.dir, u.err)
}

// emptyFolder empties a folder that was empty before the demo. A second try finds it as
// the first did.
func emptyFolder(dir string) error {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// placeOfFile says where an embedded file goes: messages go into a Maildir, whose
// file names carry their flags.
func placeOfFile(name string) string {
	if m, ok := strings.CutPrefix(name, "mail/"); ok {
		return filepath.Join("mailbox", "cur", strings.TrimSuffix(path.Base(m), ".eml")+".demo:2,S")
	}
	return filepath.FromSlash(name)
}

func writeFile(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

func readPublicKey(cfg *config.Config) (string, error) {
	k, err := keys.LoadOrCreate(cfg.Keys.Dir)
	if err != nil {
		return "", err
	}
	return k.LedgerPublic(), nil
}
