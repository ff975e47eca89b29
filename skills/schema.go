package skills

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/internal/textcut"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// MaxSchema is the greatest size in bytes of a skill's JSON Schema.
const MaxSchema = 256 << 10

// SchemaError is one way in which arguments do not fit a skill's schema.
type SchemaError struct {
	// Pointer is the JSON pointer of the offending value, cut before the
	// first key that the schema doesn't declare: undeclared keys are the
	// model's own words and belong in no record.
	Pointer string
	// Keyword is the schema keyword that failed: "required", "type", …
	Keyword string
	// Message is for the model and may quote what it sent.
	Message string
}

// Error returns pointer and message.
func (e SchemaError) Error() string {
	if e.Pointer == "" {
		return e.Message
	}
	return e.Pointer + ": " + e.Message
}

type schema struct {
	raw      json.RawMessage
	compiled *jsonschema.Schema
	simple   *simpleSchema // nil where only the library can judge
}

// noLoader refuses every reference that leaves the document: the library's
// own loader would read file:// references.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("references to other documents are not loaded; put the schema under $defs")
}

func compileSchema(raw json.RawMessage) (*schema, *notes, error) {
	if len(raw) > MaxSchema {
		return nil, nil, &PathError{"parameters", fmt.Sprintf("is %d bytes; at most %d are allowed", len(raw), MaxSchema)}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, &PathError{"parameters", "is not valid JSON"}
	}
	root, ok := doc.(map[string]any)
	if !ok || root["type"] != "object" {
		return nil, nil, &PathError{"parameters", `must be the schema of an object: say "type": "object"`}
	}
	if err := modernizeSchema(root); err != nil {
		return nil, nil, err
	}
	if errs := lintSchema(root, "parameters"); len(errs) > 0 {
		return nil, nil, errors.Join(errs...)
	}
	marks, err := readNotes(root)
	if err != nil {
		return nil, nil, err
	}
	closeObjects(root)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.AssertFormat()
	const id = "mem:///parameters"
	if err := c.AddResource(id, root); err != nil {
		return nil, nil, &PathError{"parameters", err.Error()}
	}
	compiled, err := c.Compile(id)
	if err != nil {
		return nil, nil, schemaMistake(root, err)
	}
	closed, err := json.Marshal(root)
	if err != nil {
		return nil, nil, &PathError{"parameters", err.Error()}
	}
	return &schema{closed, compiled, newSimpleSchema(root)}, marks, nil
}

// schemaMistake turns the library's nested report into its innermost causes, an error
// for each place in the schema.
func schemaMistake(root any, err error) error {
	const invalid = "is not a valid JSON Schema: "
	var se *jsonschema.SchemaValidationError
	var ve *jsonschema.ValidationError
	if !errors.As(err, &se) || !errors.As(se.Err, &ve) {
		return &PathError{"parameters", invalid + err.Error()}
	}
	causes := map[string][]string{}
	for _, l := range collectLeaves(ve, nil) {
		at := schemaPlace(root, l.InstanceLocation)
		causes[at] = append(causes[at], l.ErrorKind.LocalizedString(englishPrinter()))
	}
	var errs []error
	for _, at := range slices.Sorted(maps.Keys(causes)) {
		slices.Sort(causes[at])
		errs = append(errs, &PathError{at, invalid + strings.Join(slices.Compact(causes[at]), "; ")})
	}
	return errors.Join(errs...)
}

// schemaPlace returns a place in the schema as a configuration path.
func schemaPlace(root any, location []string) string {
	at := "parameters"
	for _, key := range location {
		switch v := root.(type) {
		case []any:
			at += "[" + key + "]"
			if i, err := strconv.Atoi(key); err == nil && 0 <= i && i < len(v) {
				root = v[i]
			}
		case map[string]any:
			at, root = at+"."+key, v[key]
		}
	}
	return at
}

func englishPrinter() *message.Printer { return message.NewPrinter(language.English) }

// Validate checks arguments against the schema and returns every mistake, nil
// if there is none. args is what json.Decoder with UseNumber makes of the
// canonical arguments.
func (s *Skill) Validate(args any) []SchemaError {
	if s.schema.simple != nil && s.schema.simple.surelyFits(args) {
		return nil
	}
	err := s.schema.compiled.Validate(args)
	if err == nil {
		return s.findUndeclared(args)
	}
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return []SchemaError{{Keyword: "schema", Message: "the arguments could not be validated"}}
	}
	var out []SchemaError
	p := englishPrinter()
	for _, l := range collectLeaves(ve, nil) {
		e := SchemaError{
			Pointer: s.declaredPointer(l.InstanceLocation),
			Keyword: failedKeyword(l.ErrorKind),
			Message: textcut.Head(l.ErrorKind.LocalizedString(p), 300),
		}
		if s.secretAt(l.InstanceLocation) {
			e.Message = "does not fit; the value is secret" // the message may quote it
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b SchemaError) int { return strings.Compare(a.Pointer, b.Pointer) })
	return out
}

func collectLeaves(e *jsonschema.ValidationError, out []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return append(out, e)
	}
	for _, c := range e.Causes {
		out = collectLeaves(c, out)
	}
	return out
}

func failedKeyword(k jsonschema.ErrorKind) string {
	if p := k.KeywordPath(); len(p) > 0 {
		return p[len(p)-1]
	}
	if _, ok := k.(*kind.FalseSchema); ok {
		return "false"
	}
	return "schema"
}

func (s *Skill) declaredPointer(loc []string) string {
	var b strings.Builder
	at := s.notes.root
	for _, part := range loc {
		if isIndex(part) && len(part) < 7 && at.isList() { // longer ones are keys of digits, such as card numbers
			if _, named := at.stepTo(part); !named {
				i, err := strconv.Atoi(part)
				if err != nil {
					break
				}
				at = at.itemAt(i)
				b.WriteString("/" + part)
				continue
			}
		}
		sub, declared := at.stepTo(part)
		if !declared {
			break
		}
		at = sub
		b.WriteString("/" + escapePointer(part))
	}
	return b.String()
}

func isIndex(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// findUndeclared finds keys that no part of the schema names, in every object of
// which it names some. The compiled schema is closed against them already; this
// doesn't depend on a dialect, a keyword or a branch that the validator reads in
// another way than we do. It is asked once the arguments fit.
func (s *Skill) findUndeclared(args any) []SchemaError {
	f := undeclaredFinder{skill: s}
	f.lookInto(s.notes.root, args, nil)
	slices.SortFunc(f.found, func(a, b SchemaError) int { return strings.Compare(a.Pointer, b.Pointer) })
	return f.found
}
