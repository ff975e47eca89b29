package exec

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec/snapshot"
)

// CommitSkill is the name of the call that writes what a program left in its snapshot.
const CommitSkill = skills.CommitName

// The reasons for which a person is asked before a commit.
const (
	ReasonDeleted   = "deleted"    // more files are gone than max_deleted
	ReasonRunsLater = "runs_later" // something is written that others run later
	ReasonRefused   = "refused"    // something can't be committed and would be left out
	ReasonNames     = "names"      // a name isn't text, so it can't be shown as it is
)

// noteOverwritten marks a file whose old content is gone.
const noteOverwritten = "overwritten"

// commitTime is how long a commit may take. It doesn't stop half way: one that took longer
// would go on without any record of how it ended.
const commitTime = 10 * time.Minute

// maxShown is how many paths the arguments of a commit name, what matters most first.
const maxShown = 200

// commitArgs are the arguments of exec.commit. They name what a person reads; Digest
// covers all of it.
type commitArgs struct {
	Call    string   `json:"call"`
	Layer   string   `json:"layer"`
	Digest  string   `json:"digest"`
	Roots   []string `json:"roots"`
	Created int      `json:"created"`
	Changed int      `json:"changed"`
	Deleted int      `json:"deleted"`
	Lost    int      `json:"lost"`  // files that are gone, cut to less than a tenth, or replaced
	Later   int      `json:"later"` // paths that others run later
	Left    int      `json:"left"`  // paths that can't be committed
	// Overwritten is how many files keep less than half of their old content. They are
	// counted only where that may matter.
	Overwritten int         `json:"overwritten,omitempty"`
	Bytes       int64       `json:"bytes"`
	Reasons     []string    `json:"reasons"`
	Paths       []shownPath `json:"paths"`
	More        int         `json:"more"` // paths that aren't named
}

// shownPath is one change as a person reads it.
type shownPath struct {
	Path   string `json:"path"` // absolute, quoted where it isn't plain
	Kind   string `json:"kind"`
	Type   string `json:"type,omitempty"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"`
	Target string `json:"target,omitempty"`
	Lost   int    `json:"lost,omitempty"`
	Mode   string `json:"mode,omitempty"`  // permissions in octal, where the change gives others
	Attrs  string `json:"attrs,omitempty"` // access lists and attributes that the change gives or takes
	Note   string `json:"note,omitempty"`  // why it stands out: runs_later, refused, stripped, overwritten
}

const commitSchema = `{"type":"object","additionalProperties":false,
	"required":["call","layer","digest","roots","created","changed","deleted","lost","bytes","reasons","paths","more"],"properties":{
	"later":{"type":"integer"},"left":{"type":"integer"},"overwritten":{"type":"integer"},
	"call":{"type":"string"},"layer":{"type":"string","pattern":"^[0-9a-f]{32}$"},"digest":{"type":"string","pattern":"^sha256:[0-9a-f]{64}$"},
	"roots":{"type":"array","items":{"type":"string"},"maxItems":64},
	"created":{"type":"integer"},"changed":{"type":"integer"},"deleted":{"type":"integer"},"lost":{"type":"integer"},
	"bytes":{"type":"integer"},
	"reasons":{"type":"array","items":{"enum":["deleted","runs_later","refused","names"]}},
	"paths":{"type":"array","maxItems":200,"items":{"type":"object","x-content":true}},"more":{"type":"integer"}}}`

// CommitSpec describes exec.commit. No agent is granted it: the checkpoint proposes it as
// what follows from a call that wrote by snapshot.
func CommitSpec() skills.Spec {
	return skills.Spec{
		Name: CommitSkill, Description: "Write to its folders what a sandboxed program changed.",
		Effect: skills.Modify, Reaches: skills.Self, Output: skills.Trusted,
		Parameters: json.RawMessage(commitSchema), Run: skills.Run{Kind: "native"},
		// A commit that began is finished by its journal; one that ended says so again.
		Idempotent: true,
		Timeout:    commitTime,
	}
}

// proposeCommit returns the call that commits the changes.
func (w *writing) proposeCommit(c *snapshot.Changes) (*skills.Follow, error) {
	limit := snapshot.MaxDeleted{Files: w.program.MaxDeleted.Files, Percent: w.program.MaxDeleted.Percent}
	found, err := w.layer.Findings(w.caller, c, limit)
	if err != nil {
		return nil, err
	}
	paths, err := listFollowPaths(w.caller, w.layer, c)
	if err != nil {
		return nil, err
	}
	f := &skills.Follow{Skill: CommitSkill, Paths: paths, Drop: w.layer.Discard}
	args := commitArgs{Call: w.order.CallID, Layer: w.layer.ID(), Digest: c.Digest, Roots: c.Roots, Bytes: c.Bytes, Reasons: []string{}}
	text := true
	for _, one := range c.List {
		args.countChange(one)
		text = text && utf8.ValidString(one.Path) && utf8.ValidString(one.Target)
	}
	for _, r := range []struct {
		word string
		is   bool
	}{
		{ReasonDeleted, found.TooMany}, {ReasonRunsLater, len(found.RunsLater) > 0}, {ReasonRefused, len(found.Refused) > 0},
		{ReasonNames, !text},
	} {
		if r.is {
			args.Reasons = append(args.Reasons, r.word)
		}
	}
	args.Later, args.Left, args.Overwritten = len(found.RunsLater), len(found.Refused), len(found.Overwritten)
	args.Paths = listShownPaths(w.layer, c, found)
	args.More = len(c.List) - len(args.Paths)
	f.Reasons = args.Reasons
	f.Args, err = json.Marshal(args)
	return f, err
}

func (a *commitArgs) countChange(c snapshot.Change) {
	a.Lost += c.Lost
	switch c.Kind {
	case snapshot.Created:
		a.Created++
	case snapshot.Deleted:
		a.Deleted++
	default:
		a.Changed++
	}
}

// pathOfChange returns where a change is.
func pathOfChange(c *snapshot.Changes, one snapshot.Change) string {
	if one.Path == "." {
		return c.Roots[one.Root]
	}
	return c.Roots[one.Root] + "/" + one.Path
}

// firstShown is how many changes of each sort come first on the list. Many of one sort then
// don't hide those of another.
const firstShown = 5

// listShownPaths returns the changes in the order in which a person sees them. First comes
// what runs later, then what is lost, what is refused or stripped, and the rest. Among equals
// the order of the list stays.
func listShownPaths(l *snapshot.Layer, c *snapshot.Changes, found snapshot.Findings) []shownPath {
	notes := map[snapshot.Change]string{}
	for _, one := range found.Overwritten {
		notes[one] = noteOverwritten
	}
	for _, one := range found.RunsLater {
		notes[one] = ReasonRunsLater
	}
	for _, one := range found.Stripped {
		notes[one] = "stripped " + one.Stripped
	}
	for _, one := range found.Refused {
		notes[one] = ReasonRefused
	}
	seen := map[int]int{}
	rank := map[snapshot.Change]int{}
	for _, one := range c.List {
		sort := sortOfChange(one, notes[one])
		if seen[sort]++; seen[sort] > firstShown {
			sort += otherChange
		}
		rank[one] = sort
	}
	list := slices.Clone(c.List)
	slices.SortStableFunc(list, func(a, b snapshot.Change) int { return cmp.Compare(rank[a], rank[b]) })
	out := make([]shownPath, 0, min(len(list), maxShown))
	for _, one := range list[:min(len(list), maxShown)] {
		s := shownPath{Path: showPathSafely(pathOfChange(c, one)), Kind: string(one.Kind), Type: string(one.Type), Bytes: one.Size,
			SHA256: one.SHA256, Lost: one.Lost, Note: notes[one], Mode: describeMode(one), Attrs: shortenText(l.DescribeAttrs(one))}
		if one.Target != "" {
			s.Target = showPathSafely(one.Target)
		}
		out = append(out, s)
	}
	return out
}

// The sorts of changes, what matters most first.
const (
	laterChange = iota
	lostChange
	markedChange // refused or stripped
	otherChange
)

// sortOfChange tells the sort of a change by its note.
func sortOfChange(one snapshot.Change, note string) int {
	switch {
	case note == ReasonRunsLater:
		return laterChange
	case one.Lost > 0, note == noteOverwritten:
		return lostChange
	case note != "":
		return markedChange
	}
	return otherChange
}

// describeMode returns the permissions that a change gives, in octal. It is empty where they
// are as they were, or those of any new file or folder.
func describeMode(one snapshot.Change) string {
	plain := one.Mode == 0o644 && one.Type == snapshot.File || one.Mode == 0o755 && one.Type == snapshot.Folder
	switch {
	case one.Type != snapshot.File && one.Type != snapshot.Folder:
		return ""
	case one.Was == one.Type && one.Mode == one.WasMode, one.Was != one.Type && plain:
		return ""
	}
	return fmt.Sprintf("%04o", one.Mode)
}

// longText is how many bytes of a path or target are shown.
const longText = 400

// showPathSafely shows a path without letting it pass for another or hide its end.
func showPathSafely(path string) string {
	return shortenShown(snapshot.Change{Path: path}.Show(), path)
}

// shortenText shortens a text that is shown as it is.
func shortenText(text string) string { return shortenShown(text, text) }

// shortenShown shortens what is shown of a text, and names the text's size and hash.
func shortenShown(shown, text string) string {
	if len(shown) <= longText {
		return shown
	}
	sum := sha256.Sum256([]byte(text))
	cut := fmt.Sprintf(" …[%d bytes, sha256 %x]… ", len(text), sum[:8])
	return strings.ToValidUTF8(shown[:longText/2], "") + cut + strings.ToValidUTF8(shown[len(shown)-longText/2:], "")
}

// CommitOptions is what a running system adds to exec.commit.
type CommitOptions struct {
	// State is the folder of Options.State.
	State string
}

// NewCommit returns what runs exec.commit. It commits exactly the changes of the digest in
// the call's arguments, and throws the layer away when they are in the roots.
func NewCommit(s *skills.Skill, r skills.Redeemer, o CommitOptions) skills.Executor {
	return skills.NewExecutor(r, s, func(ctx context.Context, order skills.Order) (skills.Result, error) {
		var args commitArgs
		if err := json.Unmarshal([]byte(order.Args), &args); err != nil {
			return skills.Result{}, fmt.Errorf("%w: the arguments are no commit", skills.ErrBadInput)
		}
		layer, err := snapshot.Load(o.State, args.Layer)
		if err != nil {
			return skills.Result{}, fmt.Errorf("%w: %w", skills.ErrNoEffect, err)
		}
		leave := slices.Contains(args.Reasons, ReasonRefused) // a person was asked about it
		report, err := commitLayer(ctx, layer, args.Digest, snapshot.CommitOptions{LeaveRefused: leave})
		if err != nil {
			return skills.Result{}, explainCommit(err)
		}
		_ = layer.Discard() // what it held is in the roots; the state's owner sweeps what is left
		said := fmt.Sprintf("%d paths were written and %d removed", report.Written, report.Deleted)
		if report.Left > 0 {
			said += fmt.Sprintf("; %d could not be committed and were left out", report.Left)
		}
		return skills.Result{Content: said, Isolation: "in process"}, nil
	})
}

// commitLayer commits, or ends a commit that was begun.
func commitLayer(ctx context.Context, l *snapshot.Layer, digest string, o snapshot.CommitOptions) (snapshot.Report, error) {
	report, err := l.Commit(ctx, digest, o)
	if !errors.Is(err, snapshot.ErrBegun) {
		return report, err
	}
	if report, err = l.Resume(ctx); err == nil && report.Digest != digest {
		err = snapshot.ErrDigest
	}
	return report, err
}

// explainCommit tells what is unknown from what left the roots as they were, and names the
// paths that others changed.
func explainCommit(err error) error {
	var unfinished *snapshot.UnfinishedError
	if errors.As(err, &unfinished) || errors.Is(err, snapshot.ErrJournal) || errors.Is(err, snapshot.ErrBusy) {
		return &skills.Failure{Code: skills.FailFailed, Unknown: true, Err: err}
	}
	var conflict *snapshot.ConflictError
	if errors.As(err, &conflict) {
		var names []string
		for _, c := range conflict.Conflicts[:min(len(conflict.Conflicts), maxShown)] {
			names = append(names, showPathSafely(c.Path)+" ("+string(c.Reason)+")")
		}
		err = fmt.Errorf("%w: %s", err, strings.Join(names, ", "))
	}
	return fmt.Errorf("%w: %w", skills.ErrNoEffect, err)
}
