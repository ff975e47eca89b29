package sink

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"
)

// fileName is the file of a record's month.
func fileName(at time.Time) string { return at.UTC().Format("2006-01") + ".jsonl" }

func isFileName(name string) bool {
	return regexp.MustCompile(`^[0-9]{4}-[0-9]{2}\.jsonl$`).MatchString(name)
}

// makeFolder makes the folder where it is missing. Others may not look into it.
func makeFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("the folder of ledger.sink can't be made: %w", err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		return fmt.Errorf("the folder of ledger.sink can't be read: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("the folder of ledger.sink has mode %04o, and others can read it: chmod 700 %s", info.Mode().Perm(), folder)
	}
	return nil
}

// appendFile writes lines at the end of a file, durably: all of them, or none.
func appendFile(folder, name string, lines []byte) (err error) {
	path := filepath.Join(folder, name)
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file: move it away", path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("the file of the month can't be opened: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err = f.Write(lines); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the file of the month can't be written: %w", err), f.Truncate(info.Size()))
	}
	return nil
}

// written is what is read of a line.
type written struct {
	Index int64  `json:"index"`
	ID    string `json:"id"`
}

// findLast returns the newest record that a file has. Half a line at the end of a file, which a crash
// left, is cut off.
func findLast(folder string) (last written, found bool, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return last, false, fmt.Errorf("the folder of ledger.sink can't be read: %w", err)
	}
	for _, e := range entries {
		if !isFileName(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		text, err := cutToLines(filepath.Join(folder, e.Name()))
		if err != nil {
			return last, false, err
		}
		if len(text) == 0 {
			continue
		}
		var w written
		if json.Unmarshal(text, &w) != nil || w.ID == "" {
			return last, false, fmt.Errorf("the last line of %s is no record: move the file away", e.Name())
		}
		if !found || w.Index > last.Index {
			last, found = w, true
		}
	}
	return last, found, nil
}

// blockSize is how much of a file is read at a time from its end.
const blockSize = 64 << 10

// cutToLines returns the last whole line of a file and cuts off what stands behind it.
func cutToLines(path string) (_ []byte, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("a file of ledger.sink can't be read: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	var tail []byte
	end := int64(-1) // behind the last line's end
	for at := size; at > 0; {
		n := min(at, blockSize)
		at -= n
		block := make([]byte, n, n+int64(len(tail)))
		if _, err := f.ReadAt(block, at); err != nil {
			return nil, err
		}
		tail = append(block, tail...)
		if i := bytes.LastIndexByte(tail, '\n'); end < 0 && i >= 0 {
			end = at + int64(i) + 1
			tail = tail[:i]
		}
		if end < 0 {
			continue
		}
		if i := bytes.LastIndexByte(tail, '\n'); i >= 0 {
			tail = tail[i+1:]
			break
		}
	}
	if end < 0 {
		end, tail = 0, nil
	}
	if end < size {
		if err := f.Truncate(end); err != nil {
			return nil, fmt.Errorf("half a line can't be cut off: %w", err)
		}
	}
	return tail, nil
}
