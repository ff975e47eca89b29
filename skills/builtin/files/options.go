package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
)

// Options is what a running system adds to a skill's own options.
type Options struct {
	// Root is the folder where the skill's options name none.
	Root string
	// Dir is the folder that a relative root resolves against. If empty, the
	// process's own working directory.
	Dir string
	// Now is the clock that names archived files. If nil, time.Now.
	Now func() time.Time
}

// DefaultMaxFile is the greatest size of a file in bytes where max_file is not set.
const DefaultMaxFile = 8 << 20

// config is the skill's own options, as written.
type config struct {
	Root    string `json:"root"`
	MaxFile int64  `json:"max_file"`
}

// New returns the Executor of one of the skills of Specs, or every mistake as joined
// *skills.PathError values. The last part of the skill's name tells which ("notes.read" reads
// as well). The root must exist.
func New(s *skills.Skill, r skills.Redeemer, o Options) (skills.Executor, error) {
	at, err := decode.Start(s, r, "builtin")
	if err != nil {
		return nil, err
	}
	op, err := decode.Operation(s, Specs())
	c := config{Root: o.Root, MaxFile: DefaultMaxFile}
	if err := errors.Join(err, decode.Options(s.Spec().Run.Options, at, &c)); err != nil {
		return nil, err
	}
	f := &folder{maxFile: c.MaxFile, now: o.Now}
	if f.now == nil {
		f.now = time.Now
	}
	if err := errors.Join(f.findRootFolder(at, c.Root, o.Dir), checkMaxFile(at, c.MaxFile)); err != nil {
		return nil, err
	}
	run := map[string]skills.RunFunc{"read": f.runReadSkill, "search": f.runSearchSkill, "write": f.runWriteSkill, "update": f.runUpdateSkill,
		"archive": f.runArchiveSkill}[op]
	return skills.NewExecutor(r, s, run), nil
}

func checkMaxFile(at string, n int64) error {
	if n < 1 || n > 64<<20 {
		return &skills.PathError{Path: at + ".max_file", Msg: fmt.Sprintf("must be between 1 and %d bytes", 64<<20)}
	}
	return nil
}

// folder is the root and its limits.
type folder struct {
	path    string // absolute
	maxFile int64
	now     func() time.Time
}

func (f *folder) findRootFolder(at, root, dir string) error {
	at += ".root"
	if root == "" {
		return &skills.PathError{Path: at, Msg: "is missing; name the folder that the skill may use"}
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(dir, root)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return &skills.PathError{Path: at, Msg: "can't be found"}
	}
	st, err := os.Stat(root)
	if err != nil || !st.IsDir() {
		return &skills.PathError{Path: at, Msg: "is no folder"}
	}
	f.path = root
	return nil
}

// openRootFolder opens the root for one call, so that no descriptor outlives it.
func (f *folder) openRootFolder(ctx context.Context) (*os.Root, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, decode.Refuse("the folder can't be opened")
	}
	return root, nil
}

// Specs returns the five skills as they are declared by default. Run.Options is
// empty: put the root there, or into Options.Root.
func Specs() []skills.Spec {
	spec := func(name, description string, e skills.Effect, parameters string) skills.Spec {
		return skills.Spec{Name: "files." + name, Description: description, Effect: e, Reaches: skills.Self, Output: skills.Untrusted,
			Parameters: json.RawMessage(parameters), Idempotent: e == skills.Read, Run: skills.Run{Kind: "builtin"}}
	}
	return []skills.Spec{
		spec("read", "Read a text file of the workspace.", skills.Read,
			`{"type":"object","required":["path"],"additionalProperties":false,"properties":{
"path":{"type":"string","minLength":1,"maxLength":4096,"x-path":true,"description":"Path relative to the workspace."},
"offset":{"type":"integer","minimum":0,"description":"Byte to start at."},
"max_bytes":{"type":"integer","minimum":1,"maximum":1048576,"description":"Most bytes to return; 262144 if absent."}}}`),
		spec("search", "Find files of the workspace by name or content, ignoring case.", skills.Read,
			`{"type":"object","required":["query"],"additionalProperties":false,"properties":{
"query":{"type":"string","minLength":1,"maxLength":1024,"x-content":true,"description":"Text to look for in names and lines."},
"path":{"type":"string","minLength":1,"maxLength":4096,"x-path":true,"description":"Folder to search; the whole workspace if absent."},
"glob":{"type":"string","minLength":1,"maxLength":256,"x-content":true,`+
				`"description":"Only files that match, for example *.md or docs/**/*.txt."},
"limit":{"type":"integer","minimum":1,"maximum":200,"description":"Most matches to return; 50 if absent."}}}`),
		spec("write", "Create a text file of the workspace, or replace it as a whole.", skills.Modify,
			`{"type":"object","required":["path","content"],"additionalProperties":false,"properties":{
"path":{"type":"string","minLength":1,"maxLength":4096,"x-path":true,"x-target":true},
"content":{"type":"string","x-content":true}}}`),
		spec("update", "Replace a text in a file of the workspace. It must occur exactly once, unless all is true.", skills.Modify,
			`{"type":"object","required":["path","find","replace"],"additionalProperties":false,"properties":{
"path":{"type":"string","minLength":1,"maxLength":4096,"x-path":true,"x-target":true},
"find":{"type":"string","minLength":1,"x-content":true},
"replace":{"type":"string","x-content":true},
"all":{"type":"boolean"}}}`),
		spec("archive", "Put a file of the workspace away. It can't be brought back by an agent.", skills.Irreversible,
			`{"type":"object","required":["path"],"additionalProperties":false,"properties":{
"path":{"type":"string","minLength":1,"maxLength":4096,"x-path":true,"x-target":true}}}`),
	}
}
