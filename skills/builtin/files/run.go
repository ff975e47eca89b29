package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
)

const defaultRead = 256 << 10

// runReadSkill answers with the text itself, from offset on, cut at a character.
func (f *folder) runReadSkill(ctx context.Context, o skills.Order) (skills.Result, error) {
	a := struct {
		Path     string `json:"path"`
		Offset   int64  `json:"offset"`
		MaxBytes int    `json:"max_bytes"`
	}{MaxBytes: defaultRead}
	if err := decode.Args(o.Args, &a); err != nil {
		return skills.Result{}, err
	}
	name, err := f.resolveName(a.Path)
	if err != nil {
		return skills.Result{}, err
	}
	if a.Offset < 0 || a.MaxBytes < 1 {
		return skills.Result{}, decode.Refuse("offset and max_bytes must not be negative")
	}
	root, err := f.openRootFolder(ctx)
	if err != nil {
		return skills.Result{}, err
	}
	defer func() { _ = root.Close() }()
	file, st, err := f.openRegular(root, name)
	if err != nil {
		return skills.Result{}, err
	}
	defer func() { _ = file.Close() }()
	if a.Offset > st.Size() {
		return skills.Result{}, decode.Refuse("the file ends at byte %d", st.Size())
	}
	most := min(a.MaxBytes, skills.MaxResult)
	content, err := f.openApproved(ctx, file)
	if err != nil {
		return skills.Result{}, err
	}
	b, err := io.ReadAll(io.NewSectionReader(content, a.Offset, int64(most)+1))
	if err != nil {
		return skills.Result{}, explainError(err)
	}
	b, cut := cutWindow(b, most, a.Offset > 0)
	if !isUTF8Text(b) {
		return skills.Result{}, decode.Refuse("the file is binary, or not UTF-8 text")
	}
	return skills.Result{Content: string(b), Truncated: cut, Isolation: isolation}, nil
}

// openApproved is the open file itself, or all of it as a person approved it.
func (f *folder) openApproved(ctx context.Context, file *os.File) (io.ReaderAt, error) {
	if len(skills.Approved(ctx, pathArg)) == 0 {
		return file, nil
	}
	whole, err := io.ReadAll(io.LimitReader(file, f.maxFile+1))
	if err != nil {
		return nil, explainError(err)
	}
	if err := skills.CheckApproved(ctx, pathArg, bytes.NewReader(whole)); err != nil {
		return nil, err
	}
	return bytes.NewReader(whole), nil
}

// cutWindow cuts b to most bytes at whole characters.
func cutWindow(b []byte, most int, midway bool) (out []byte, cut bool) {
	if cut = len(b) > most; cut {
		b = b[:most]
		for i := 1; i <= min(utf8.UTFMax, len(b)); i++ {
			if utf8.RuneStart(b[len(b)-i]) {
				if !utf8.FullRune(b[len(b)-i:]) {
					b = b[:len(b)-i]
				}
				break
			}
		}
	}
	for i := 0; midway && i < utf8.UTFMax && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:]
	}
	return b, cut
}

// runWriteSkill creates or replaces a file, and the folders above it.
func (f *folder) runWriteSkill(ctx context.Context, o skills.Order) (skills.Result, error) {
	var a struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	if err := decode.Args(o.Args, &a); err != nil {
		return skills.Result{}, err
	}
	name, err := f.resolveName(a.Path)
	if err == nil {
		err = f.checkContent(a.Content)
	}
	if err != nil {
		return skills.Result{}, err
	}
	return f.runLocked(ctx, func(root *os.Root) (skills.Result, error) {
		st, exists, err := f.inspectTarget(root, name)
		if err == nil {
			err = f.checkApproved(ctx, root, name, exists)
		}
		if err != nil {
			return skills.Result{}, err
		}
		mode, did := fs.FileMode(0o644), "created"
		if exists {
			mode, did = st.Mode().Perm(), "replaced"
		} else if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return skills.Result{}, explainError(err)
		}
		if err := f.replaceFile(root, name, a.Content, mode); err != nil {
			return skills.Result{}, err
		}
		return doneResult("%s %s, %d bytes", did, name, len(a.Content))
	})
}

func (f *folder) checkContent(s string) error {
	switch {
	case int64(len(s)) > f.maxFile:
		return decode.Refuse("the content has %d bytes; at most %d are handled", len(s), f.maxFile)
	case !isUTF8Text([]byte(s)):
		return decode.Refuse("the content is binary, or not UTF-8 text")
	}
	return nil
}

func doneResult(format string, a ...any) (skills.Result, error) {
	return skills.Result{Content: fmt.Sprintf(format, a...), Isolation: isolation}, nil
}

// runUpdateSkill replaces a text that must stand exactly once, or all of its places.
func (f *folder) runUpdateSkill(ctx context.Context, o skills.Order) (skills.Result, error) {
	var a struct {
		Path    string `json:"path"`
		Find    string `json:"find"`
		Replace string `json:"replace"`
		All     bool   `json:"all"`
	}
	if err := decode.Args(o.Args, &a); err != nil {
		return skills.Result{}, err
	}
	name, err := f.resolveName(a.Path)
	if err != nil {
		return skills.Result{}, err
	}
	if a.Find == "" {
		return skills.Result{}, decode.Refuse("find is empty")
	}
	return f.runLocked(ctx, func(root *os.Root) (skills.Result, error) {
		if _, exists, err := f.inspectTarget(root, name); err != nil || !exists {
			return skills.Result{}, errors.Join(err, refuseMissing(exists || err != nil))
		}
		old, st, err := f.readTextFile(root, name)
		if err == nil {
			err = skills.CheckApproved(ctx, pathArg, strings.NewReader(old))
		}
		if err != nil {
			return skills.Result{}, err
		}
		n := strings.Count(old, a.Find)
		switch {
		case n == 0:
			return skills.Result{}, decode.Refuse("the text to find does not occur in the file")
		case n > 1 && !a.All:
			return skills.Result{}, decode.Refuse("the text to find occurs %d times; give more of it, or set all", n)
		}
		if size := int64(len(old)) + int64(n)*int64(len(a.Replace)-len(a.Find)); size > f.maxFile {
			return skills.Result{}, decode.Refuse("the file would have %d bytes; at most %d are handled", size, f.maxFile)
		}
		content := strings.ReplaceAll(old, a.Find, a.Replace)
		if err := f.checkContent(content); err != nil {
			return skills.Result{}, err
		}
		if err := f.replaceFile(root, name, content, st.Mode().Perm()); err != nil {
			return skills.Result{}, err
		}
		return doneResult("replaced %d in %s, now %d bytes", n, name, len(content))
	})
}

func refuseMissing(exists bool) error {
	if exists {
		return nil
	}
	return decode.Refuse("there is no such file")
}

// runArchiveSkill moves a file to where no skill reaches it.
func (f *folder) runArchiveSkill(ctx context.Context, o skills.Order) (skills.Result, error) {
	var a struct {
		Path string `json:"path"`
	}
	if err := decode.Args(o.Args, &a); err != nil {
		return skills.Result{}, err
	}
	name, err := f.resolveName(a.Path)
	if err != nil {
		return skills.Result{}, err
	}
	return f.runLocked(ctx, func(root *os.Root) (skills.Result, error) {
		if _, exists, err := f.inspectTarget(root, name); err != nil || !exists {
			return skills.Result{}, errors.Join(err, refuseMissing(exists || err != nil))
		}
		if err := f.checkApproved(ctx, root, name, true); err != nil {
			return skills.Result{}, err
		}
		if err := root.MkdirAll(archiveDir, 0o700); err != nil {
			return skills.Result{}, explainError(err)
		}
		if st, err := root.Lstat(archiveDir); err != nil || !st.IsDir() {
			return skills.Result{}, decode.Refuse("the archive is no folder")
		}
		to, err := f.freeName(root, path.Base(name))
		if err != nil {
			return skills.Result{}, err
		}
		if err := root.Rename(name, to); err != nil {
			return skills.Result{}, explainError(err)
		}
		syncFolder(root, archiveDir)
		syncFolder(root, path.Dir(name))
		return doneResult("archived %s", name)
	})
}

// freeName returns a name in the archive that nothing has: a rename would
// replace what is there.
func (f *folder) freeName(root *os.Root, base string) (string, error) {
	stamp := f.now().UTC().Format("20060102T150405.000000000Z")
	for i := range 1000 {
		to := archiveDir + "/" + stamp + "-" + base
		if i > 0 {
			to = fmt.Sprintf("%s/%s.%d-%s", archiveDir, stamp, i, base)
		}
		if _, err := root.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return to, nil
		} else if err != nil {
			return "", explainError(err)
		}
	}
	return "", decode.Refuse("the archive has no free name")
}
