package sentinel

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-dev/vedette/skills"
)

// StoreMark is a durable note that a tainted call wrote into a store of its user's. A store
// is what the skills of one domain read and write: memory.save and memory.get. The recorder
// keeps a mark until the user's values are purged.
type StoreMark struct {
	// Ref names the mark; it holds no value.
	Ref string
	// Data is for the journal, sealed there.
	Data []byte
}

// StoreMarks finds marks.
type StoreMarks interface {
	// StoreMarks returns the data of the user's marks of that name.
	StoreMarks(ctx context.Context, user, ref string) ([][]byte, error)
}

// markData is what a mark says: which arguments name what was written. Without names it may
// be anything in the store.
type markData struct {
	Names []string `json:"names,omitempty"`
}

// storeOf is the store that a skill works on; "" for the program's own skills, which work
// on none.
func storeOf(skill string) string {
	if skill == skills.CommitName || strings.HasPrefix(skill, "agent.") {
		return ""
	}
	if i := strings.LastIndexByte(skill, '.'); i > 0 {
		return skill[:i]
	}
	return skill
}

// refOfMark names a mark: of a store, or of what one key of it names.
func (m recordMaker) refOfMark(user, store string, key []string) string {
	return "mark/" + m.keyedDigest(string(encodeJSON(append([]string{user, store}, key...))))
}

// listKeyArgs returns the arguments of a call that name one thing in its store exactly: its
// targets, where its schema says which those are, and ids. What is searched for, and what is
// written, names nothing exactly.
func listKeyArgs(c Call) map[string]string {
	keys := map[string]string{}
	c.Skill().Walk(c.Parsed(), func(a skills.Arg) {
		s, ok := a.Text()
		if !ok || !a.Declared || a.Pointer != "/"+a.Name || a.Marks&(skills.Secret|skills.Content|skills.Path|skills.URL) != 0 {
			return
		}
		if a.Marks.Has(skills.Target) && c.Skill().Annotated() || isKeyName(a.Name) {
			keys[a.Name] = spellKey(s)
		}
	})
	return keys
}

// inexactKeys are words that a store may take for a thing of another name, or for all things.
var inexactKeys = []string{"all", "any", "first", "last", "latest", "newest", "recent", "current", "primary", "main", "default"}

// spellKey is a key as stores may tell it from others: its letters and digits alone, since a store
// may fold the rest. It is "" for what a store may read as a pattern or as another name.
func spellKey(s string) string {
	var b strings.Builder
	for _, r := range path.Clean(strings.TrimSpace(FoldText(s))) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		case !strings.ContainsRune(" -_./@:#", r) && !unicode.Is(unicode.Cf, r):
			return ""
		}
	}
	if slices.Contains(inexactKeys, b.String()) {
		return ""
	}
	return b.String()
}

// isKeyName reports whether an argument is called an id or a key.
func isKeyName(name string) bool {
	for _, end := range []string{"id", "key", "slug"} {
		rest, ok := strings.CutSuffix(strings.ToLower(name), end)
		hump := ok && rest != "" && strings.ToLower(name) != name && name[len(rest)] >= 'A' && name[len(rest)] <= 'Z'
		if ok && (rest == "" || strings.HasSuffix(rest, "_") || strings.HasSuffix(rest, "-") || hump) {
			return true
		}
	}
	return false
}

// keyOf is the key that the named arguments make; ok is false where the call lacks one, or has
// one that may be a pattern.
func keyOf(args map[string]string, names []string) (key []string, ok bool) {
	for _, n := range names {
		v, has := args[n]
		if !has || v == "" {
			return nil, false
		}
		key = append(key, n, v)
	}
	return key, len(names) > 0
}

// listNewMarks returns the marks that an allowed call leaves, where it is tainted and changes
// something: one of its store, which says what names the things written, and one of the
// thing. Those that are kept already are left out.
func listNewMarks(ctx context.Context, p *Checkpoint, c Call) []StoreMark {
	if c.Skill() == nil || !c.Tainted() || c.Effect() == skills.Read || storeOf(c.Name()) == "" {
		return nil
	}
	user, store, args := c.Grant().User(), storeOf(c.Name()), listKeyArgs(c)
	var names []string
	for n := range args {
		names = append(names, n)
	}
	slices.Sort(names)
	data := encodeJSON(markData{names})
	marks := []StoreMark{{p.records.refOfMark(user, store, nil), data}}
	if key, ok := keyOf(args, names); ok {
		marks = append(marks, StoreMark{p.records.refOfMark(user, store, key), data})
	}
	return slices.DeleteFunc(marks, func(m StoreMark) bool {
		kept, err := readMarks(ctx, p, user, m.Ref)
		return err == nil && slices.ContainsFunc(kept, func(b []byte) bool { return string(b) == string(data) })
	})
}

// readMarks reads the user's marks of a name. The caller may have left by now.
func readMarks(ctx context.Context, p *Checkpoint, user, ref string) ([][]byte, error) {
	if p.o.Marks == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return p.o.Marks.StoreMarks(ctx, user, ref)
}

// readsBack reports whether a call may return what a tainted call wrote, in whatever
// conversation of the user's: the very thing, or, of a read that doesn't name one thing by
// the same arguments, anything in the store. What can't be found out counts as yes.
func readsBack(ctx context.Context, p *Checkpoint, c Call) bool {
	store := storeOf(c.Name())
	if p.o.Marks == nil || store == "" {
		return false
	}
	user, args := c.Grant().User(), listKeyArgs(c)
	kept, err := readMarks(ctx, p, user, p.records.refOfMark(user, store, nil))
	if err != nil {
		p.logger().Error("what tainted calls wrote can't be read, so a result counts as untrusted", "skill", c.Name(), "error", err)
		return true
	}
	for _, data := range kept {
		var mark markData
		key, ok := []string(nil), false
		if json.Unmarshal(data, &mark) == nil {
			key, ok = keyOf(args, mark.Names)
		}
		if !ok {
			if c.Effect() == skills.Read {
				return true
			}
			continue
		}
		if things, err := readMarks(ctx, p, user, p.records.refOfMark(user, store, key)); err != nil || len(things) > 0 {
			return true
		}
	}
	return false
}
