package scripted

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"text/template"

	"github.com/vedette-dev/vedette/internal/plainjson"
)

// Limits on what a script's values may grow to.
const (
	maxNodes  = 10_000
	maxDepth  = 64
	maxOutput = 4 << 20
)

// text is a string of a reply, a template if it holds "{{".
type text struct {
	raw  string
	tmpl *template.Template
}

// funcs are the functions of templates.
var funcs = template.FuncMap{"json": func(v any) (string, error) {
	b, err := plainjson.Marshal(v)
	return string(b), err
}}

// compileText returns a text, and its template if it holds "{{".
func compileText(s string) (*text, error) {
	if !strings.Contains(s, "{{") {
		return &text{raw: s}, nil
	}
	t, err := template.New("reply").Funcs(funcs).Parse(s)
	if err != nil {
		return nil, err
	}
	return &text{tmpl: t}, nil
}

// render returns the text for one request.
func (t *text) render(v *view) (string, error) {
	if t.tmpl == nil {
		return t.raw, nil
	}
	var out limitedBuffer
	if err := t.tmpl.Execute(&out, v); err != nil {
		return "", err
	}
	return out.String(), nil
}

// limitedBuffer is a buffer that refuses to grow without bound.
type limitedBuffer struct{ bytes.Buffer }

// Write refuses what would make the buffer longer than maxOutput.
func (l *limitedBuffer) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxOutput {
		return 0, errors.New("the text is too long")
	}
	return l.Buffer.Write(p)
}

// compileTree copies a value with its strings compiled. The count bounds what
// shared YAML aliases can unfold to.
func compileTree(v any, nodes *int, depth int) (any, error) {
	if *nodes++; *nodes > maxNodes || depth > maxDepth {
		return nil, errors.New("holds too many values or too deep ones")
	}
	switch v := v.(type) {
	case string:
		return compileText(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			c, err := compileTree(e, nodes, depth+1)
			if err != nil {
				return nil, err
			}
			out[key] = c
		}
		return out, nil
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			c, err := compileTree(e, nodes, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
		return out, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("holds a number that JSON has not")
		}
		return v, nil
	case nil, bool, int, int64, uint64:
		return v, nil
	}
	return nil, fmt.Errorf("holds a value of type %T; use JSON's types", v)
}

// renderTree returns a value with its texts rendered for one request.
func renderTree(n any, v *view) (any, error) {
	switch n := n.(type) {
	case *text:
		return n.render(v)
	case map[string]any:
		out := make(map[string]any, len(n))
		for key, e := range n {
			c, err := renderTree(e, v)
			if err != nil {
				return nil, err
			}
			out[key] = c
		}
		return out, nil
	case []any:
		out := make([]any, 0, len(n))
		for _, e := range n {
			c, err := renderTree(e, v)
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
		return out, nil
	}
	return n, nil
}
