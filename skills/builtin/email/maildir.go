package email

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
)

const (
	isolation  = "os.Root"
	maxFolders = 200
	maxEntries = 100_000
)

// box is a mailbox.
type box struct {
	path       string
	maxMessage int64
	now        func() time.Time
	smtp       *server
}

// entry is one message's file.
type entry struct {
	folder string // as shown: "inbox", "drafts", "sent", "Work"
	file   string // below the root
	unique string
	flags  string
	fresh  bool // in new
	at     int64
}

// id is opaque and stays when the file's flags change.
func (e entry) id() string {
	sum := sha256.Sum256([]byte(e.folder + "\x00" + e.unique))
	return hex.EncodeToString(sum[:12])
}

func (e entry) isUnread() bool { return e.fresh || !strings.Contains(e.flags, "S") }

func (b *box) openMaildir(ctx context.Context) (*os.Root, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(b.path)
	if err != nil {
		return nil, decode.Refuse("the mailbox can't be opened")
	}
	return root, nil
}

// directoryOf returns where a shown folder is kept: "" for the inbox.
func directoryOf(folder string) (string, error) {
	switch strings.ToLower(folder) {
	case "", "inbox":
		return "", nil
	case "drafts":
		return ".Drafts", nil
	case "sent":
		return ".Sent", nil
	}
	if strings.HasPrefix(folder, ".") || strings.ContainsAny(folder, "/\\\x00") || len(folder) > 100 {
		return "", decode.Refuse("there is no such folder")
	}
	return "." + folder, nil
}

func shownFolder(dir string) string {
	switch dir {
	case "":
		return "inbox"
	case ".Drafts":
		return "drafts"
	case ".Sent":
		return "sent"
	}
	return strings.TrimPrefix(dir, ".")
}

// listDirectories lists the inbox and every folder beside it.
func listDirectories(root *os.Root) ([]string, error) {
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, decode.Refuse("the mailbox can't be read")
	}
	out := []string{""}
	for _, d := range list {
		if d.IsDir() && len(d.Name()) > 1 && d.Name()[0] == '.' && len(out) < maxFolders {
			out = append(out, d.Name())
		}
	}
	return out, nil
}

// listEntries lists the messages of a folder, the newest first. A missing folder is
// empty: drafts and sent come with the first message.
func listEntries(root *os.Root, dir string) ([]entry, error) {
	var out []entry
	for _, sub := range []string{"new", "cur"} {
		at := sub
		if dir != "" {
			at = dir + "/" + sub
		}
		d, err := root.Open(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, decode.Refuse("the folder can't be read")
		}
		names, err := d.ReadDir(maxEntries)
		_ = d.Close()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, decode.Refuse("the folder can't be read")
		}
		for _, n := range names {
			if n.Type().IsRegular() && !strings.HasPrefix(n.Name(), ".") {
				out = append(out, newEntry(shownFolder(dir), at+"/"+n.Name(), n.Name(), sub == "new"))
			}
		}
	}
	sortNewestFirst(out)
	return out, nil
}

func sortNewestFirst(list []entry) {
	slices.SortStableFunc(list, func(a, b entry) int {
		switch {
		case a.at != b.at && a.at > b.at:
			return -1
		case a.at != b.at:
			return 1
		}
		return strings.Compare(b.unique, a.unique)
	})
}

func newEntry(folder, file, name string, fresh bool) entry {
	unique, info, _ := strings.Cut(name, ":")
	e := entry{folder: folder, file: file, unique: unique, fresh: fresh}
	if flags, ok := strings.CutPrefix(info, "2,"); ok {
		e.flags = flags
	}
	secs, _, _ := strings.Cut(unique, ".")
	if n, err := strconv.ParseInt(secs, 10, 64); err == nil {
		e.at = n
	}
	return e
}

// listAllEntries lists the messages of all folders, the newest first.
func listAllEntries(root *os.Root) ([]entry, error) {
	dirs, err := listDirectories(root)
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, d := range dirs {
		es, err := listEntries(root, d)
		if err != nil {
			return nil, err
		}
		if out = append(out, es...); len(out) > maxEntries {
			break
		}
	}
	sortNewestFirst(out)
	return out, nil
}

func (b *box) findEntryByID(root *os.Root, id string) (entry, error) {
	list, err := listAllEntries(root)
	if err != nil {
		return entry{}, err
	}
	for _, e := range list {
		if e.id() == id {
			return e, nil
		}
	}
	return entry{}, decode.Refuse("there is no message with that id")
}

// openContent opens a message for reading at most maxMessage bytes of it.
func (b *box) openContent(root *os.Root, e entry) (io.ReadCloser, int64, error) {
	f, err := root.OpenFile(e.file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, decode.Refuse("the message can't be opened; it may have been moved just now")
	}
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		_ = f.Close()
		return nil, 0, decode.Refuse("the message is no regular file")
	}
	return f, st.Size(), nil
}

// deliverMessage writes a message into a folder the Maildir way: complete in tmp
// first, then under its name in cur. It returns the message's id.
func (b *box) deliverMessage(root *os.Root, dir, flags string, raw []byte) (string, error) {
	for _, sub := range []string{"tmp", "new", "cur"} {
		if err := root.MkdirAll(dir+"/"+sub, 0o700); err != nil {
			return "", decode.Refuse("the folder can't be made")
		}
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	now := b.now()
	unique := fmt.Sprintf("%d.M%dP%dR%s.%s", now.Unix(), now.Nanosecond()/1000, os.Getpid(), hex.EncodeToString(id[:]), maildirHostname())
	tmp, cur := dir+"/tmp/"+unique, dir+"/cur/"+unique+":2,"+flags
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", decode.Refuse("the message can't be written")
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(tmp, cur)
	}
	if err != nil {
		_ = root.Remove(tmp)
		return "", decode.Refuse("the message can't be written")
	}
	if d, err := root.Open(dir + "/cur"); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return entry{folder: shownFolder(dir), unique: unique}.id(), nil
}

// maildirHostname is ours in the form that Maildir names allow.
func maildirHostname() string {
	h, err := os.Hostname()
	if err != nil || h == "" {
		h = "localhost"
	}
	return strings.NewReplacer("/", `\057`, ":", `\072`).Replace(h)
}

func newResult(v string, cut bool) skills.Result {
	return skills.Result{Content: v, Truncated: cut, Isolation: isolation}
}
