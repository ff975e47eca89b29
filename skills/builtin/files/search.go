package files

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
)

// The bounds of one search, so that a large folder costs no more than this.
const (
	defaultMatches = 50
	maxMatches     = 200
	maxVisited     = 50_000
	maxScanned     = 64 << 20
	maxSnippet     = 200
)

// match is one place that was found. Line is 0 where the name itself matched.
type match struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text,omitempty"`
}

// found is the result of a search.
type found struct {
	Matches []match `json:"matches"`
	// Skipped counts files that are too large, binary or unreadable.
	Skipped int `json:"skipped,omitempty"`
	// Incomplete is set when a bound was reached before the end.
	Incomplete bool `json:"incomplete,omitempty"`
}

type searcher struct {
	found
	folder         *folder
	query          string
	glob           glob
	limit, visited int
	bytes          int64 // what was read, of files without text too
}

// runSearchSkill looks through names and lines, ignoring case, in the order of names.
func (f *folder) runSearchSkill(ctx context.Context, o skills.Order) (skills.Result, error) {
	a := struct {
		Query string `json:"query"`
		Path  string `json:"path"`
		Glob  string `json:"glob"`
		Limit int    `json:"limit"`
	}{Path: ".", Limit: defaultMatches}
	if err := decode.Args(o.Args, &a); err != nil {
		return skills.Result{}, err
	}
	start, err := f.resolveName(a.Path)
	switch {
	case err != nil:
		return skills.Result{}, err
	case a.Query == "":
		return skills.Result{}, decode.Refuse("the query is empty")
	}
	g, err := parseGlob(a.Glob)
	if err != nil {
		return skills.Result{}, err
	}
	s := &searcher{folder: f, query: strings.ToLower(a.Query), glob: g, limit: min(max(a.Limit, 1), maxMatches)}
	s.Matches = []match{}
	if err := s.walkFiles(ctx, start); err != nil {
		return skills.Result{}, err
	}
	b, err := json.Marshal(s.found)
	if err != nil {
		return skills.Result{}, err
	}
	return skills.Result{Content: string(b), Truncated: s.Incomplete, Isolation: isolation}, nil
}

func (s *searcher) walkFiles(ctx context.Context, start string) error {
	root, err := s.folder.openRootFolder(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Stat(start); err != nil {
		return explainError(err)
	}
	return fs.WalkDir(root.FS(), start, func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.Skipped++
			return nil //nolint:nilerr // what can't be read is counted and passed by
		}
		if _, hidden := s.folder.resolveName(name); hidden != nil {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if s.visited++; s.visited > maxVisited || s.bytes > maxScanned || len(s.Matches) >= s.limit {
			s.Incomplete = true
			return fs.SkipAll
		}
		if !d.Type().IsRegular() {
			return nil
		}
		return s.searchFile(ctx, root, name)
	})
}

// searchFile searches one file. What was read counts, whether it is text or not.
func (s *searcher) searchFile(ctx context.Context, root *os.Root, name string) error {
	wanted, err := s.glob.match(ctx, name)
	if err != nil || !wanted {
		return err
	}
	if strings.Contains(strings.ToLower(path.Base(name)), s.query) {
		s.Matches = append(s.Matches, match{Path: name})
	}
	text, read, err := s.folder.scanForSearch(root, name)
	s.bytes += read
	if err != nil {
		s.Skipped++
		return nil //nolint:nilerr // as what can't be read
	}
	return s.searchLines(ctx, name, text)
}

func (s *searcher) searchLines(ctx context.Context, name, text string) error {
	n := 0
	for line := range strings.Lines(text) {
		if n++; n%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !strings.Contains(strings.ToLower(line), s.query) {
			continue
		}
		if len(s.Matches) >= s.limit {
			s.Incomplete = true
			return nil
		}
		b, _ := cutWindow([]byte(strings.TrimSpace(line)), maxSnippet, false)
		s.Matches = append(s.Matches, match{Path: name, Line: n, Text: string(b)})
	}
	return nil
}
