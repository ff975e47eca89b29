// Package tools makes skills of the tools that clients declare in their requests.
//
//	c := tools.New()
//	skill, err := c.Compile(cfg.Proxy.Tools, request.Tools, "Bash")
//
// What a tool does (its effect, what its arguments are) is the operator's word, from proxy.tools. Its name, its
// description and its parameters are the client's.
//
// The package isn't stable: docs/api.md lists those that are.
package tools

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
	"github.com/vedette-dev/vedette/skills"
)

var (
	// ErrUndeclared says that the request declares no such tool.
	ErrUndeclared = errors.New("the request declares no such tool")
	// ErrTwice says that the request declares the tool twice, and not alike.
	ErrTwice = errors.New("the request declares the tool twice")
	// ErrUnreadable says that the tool's declaration can't be read.
	ErrUnreadable = errors.New("the tool's parameters can't be read")
)

// maxKept bounds the skills that are kept.
const maxKept = 1024

// Catalog makes skills of tools, each once. It is safe for concurrent use.
type Catalog struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte]made
}

type made struct {
	skill *skills.Skill
	err   error
}

// New returns a Catalog.
func New() *Catalog { return &Catalog{kept: map[[sha256.Size]byte]made{}} }

// Compile returns the skill that stands for a tool of a request. The error wraps ErrUndeclared, ErrTwice or
// ErrUnreadable.
func (c *Catalog) Compile(policy []config.ProxyTool, declared []wire.Tool, name string) (*skills.Skill, error) {
	t, err := findTool(declared, name)
	if err != nil {
		return nil, err
	}
	spec := newSpec(policy, t)
	key := keyOf(spec)
	c.mu.Lock()
	m, known := c.kept[key]
	c.mu.Unlock()
	if known {
		return m.skill, m.err
	}
	m.skill, m.err = compile(spec)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) >= maxKept {
		clear(c.kept)
	}
	c.kept[key] = m
	return m.skill, m.err
}

// findTool returns the declaration of a name.
func findTool(declared []wire.Tool, name string) (t wire.Tool, err error) {
	found := false
	for _, d := range declared {
		if d.Name != name {
			continue
		}
		if found && (d.Description != t.Description || d.Kind != t.Kind || string(d.Parameters) != string(t.Parameters)) {
			return t, ErrTwice
		}
		t, found = d, true
	}
	if !found {
		return t, ErrUndeclared
	}
	return t, nil
}

// compile contains what a hostile schema may do to its compiler.
func compile(spec skills.ToolSpec) (m *skills.Skill, err error) {
	defer func() {
		if recover() != nil {
			m, err = nil, ErrUnreadable
		}
	}()
	s, err := skills.CompileTool(spec)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return s, nil
}

// maxDescription bounds what is kept of a tool's description, in bytes.
const maxDescription = 4 << 10

// newSpec puts together what client and operator say of a tool.
func newSpec(policy []config.ProxyTool, t wire.Tool) skills.ToolSpec {
	spec := skills.ToolSpec{
		Name: t.Name, Description: t.Description[:min(len(t.Description), maxDescription)], Parameters: t.Parameters,
		Effect: skills.Irreversible, Reaches: skills.Others,
	}
	if k, ok := kinds[t.Kind]; ok && len(t.Parameters) == 0 {
		spec.Parameters, spec.Marks = json.RawMessage(k.parameters), k.marks
	}
	i := slices.IndexFunc(policy, func(p config.ProxyTool) bool { return p.Matches(t.Name) })
	if i < 0 {
		return spec
	}
	p := policy[i]
	spec.Effect, spec.Approval, spec.Sensitive, spec.Disabled = p.Effect, p.Approval, p.Sensitive, p.Disabled
	if p.Reaches != "" {
		spec.Reaches = p.Reaches
	}
	spec.Named = !p.IsPattern()
	if len(p.Arguments) > 0 {
		spec.Marks = readMarks(p.Arguments)
	}
	return spec
}

// readMarks reads annotations that the configuration has checked.
func readMarks(arguments map[string][]string) map[string]skills.Annotation {
	out := map[string]skills.Annotation{}
	for name, words := range arguments {
		for _, w := range words {
			m, _ := skills.ParseMark(w)
			out[name] |= m
		}
	}
	return out
}

// keyOf names all that a spec says.
func keyOf(s skills.ToolSpec) (sum [sha256.Size]byte) {
	h := sha256.New()
	marks, _ := json.Marshal(s.Marks) // plain data
	for _, part := range []string{s.Name, s.Description, string(s.Parameters), string(s.Effect), string(s.Reaches), string(s.Approval),
		fmt.Sprint(s.Sensitive, s.Disabled, s.Named), string(marks)} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	h.Sum(sum[:0])
	return sum
}
