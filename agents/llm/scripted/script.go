package scripted

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// MaxScript is the largest script that Load reads, in bytes.
const MaxScript = 1 << 20

// maxDelay bounds how long a reply may be held back.
const maxDelay = 10 * time.Minute

// Script is a checked list of rules. It does not change after Load; how often a
// rule answered is counted by each Server for itself.
type Script struct {
	models []string
	rules  []rule
}

type rule struct {
	Name  string `yaml:"name"`
	When  when   `yaml:"when"`
	Times int    `yaml:"times"`
	Reply reply  `yaml:"reply"`
}

type when struct {
	Model            string  `yaml:"model"`
	HasTool          string  `yaml:"has_tool"`
	HasTools         *bool   `yaml:"has_tools"`
	Schema           *string `yaml:"schema"`
	Format           string  `yaml:"format"`
	ToolChoice       *string `yaml:"tool_choice"`
	Stream           *bool   `yaml:"stream"`
	SystemContains   texts   `yaml:"system_contains"`
	UserContains     texts   `yaml:"user_contains"`
	LastUserContains texts   `yaml:"last_user_contains"`
	LastContains     texts   `yaml:"last_contains"`
	ToolContains     texts   `yaml:"tool_contains"`
	LastRole         string  `yaml:"last_role"`
	ToolResults      *int    `yaml:"tool_results"`
	MinToolResults   *int    `yaml:"min_tool_results"`
	MaxToolResults   *int    `yaml:"max_tool_results"`
	Turn             *int    `yaml:"turn"`
}

// texts is one text or a list of them.
type texts []string

// UnmarshalYAML reads a string or a list of strings.
func (t *texts) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if err := unmarshal(&one); err == nil {
		*t = texts{one}
		return nil
	}
	return unmarshal((*[]string)(t))
}

type reply struct {
	Content      *string           `yaml:"content"`
	Refusal      string            `yaml:"refusal"`
	ToolCalls    []toolReply       `yaml:"tool_calls"`
	FinishReason string            `yaml:"finish_reason"`
	Usage        *usage            `yaml:"usage"`
	Status       int               `yaml:"status"`
	Body         *string           `yaml:"body"`
	ContentType  string            `yaml:"content_type"`
	Headers      map[string]string `yaml:"headers"`
	Delay        time.Duration     `yaml:"delay"`
	Hang         bool              `yaml:"hang"`
	Fault        Fault             `yaml:"fault"`

	content, refusal, body *text
}

type toolReply struct {
	ID        string `yaml:"id"`
	Name      string `yaml:"name"`
	Arguments any    `yaml:"arguments"`

	id, name  *text
	arguments any // a *text that is sent as it is, or a tree with *text leaves
}

type usage struct {
	Prompt     int `yaml:"prompt_tokens" json:"prompt_tokens"`
	Completion int `yaml:"completion_tokens" json:"completion_tokens"`
	Total      int `yaml:"total_tokens" json:"total_tokens"`
}

// Load reads a script. Unknown keys, templates that don't parse, replies that
// contradict themselves and rules that can't be reached are errors; the faults
// of a well-formed file are reported all at once, each with its path.
func Load(src []byte) (s *Script, err error) {
	defer func() {
		if recover() != nil {
			s, err = nil, errors.New("script: the YAML can't be read")
		}
	}()
	if len(src) > MaxScript {
		return nil, fmt.Errorf("script: larger than %d bytes", MaxScript)
	}
	var file struct {
		Models []string `yaml:"models"`
		Rules  []rule   `yaml:"rules"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(src), yaml.Strict())
	if err := dec.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("script: %s", yaml.FormatError(err, false, true))
	}
	if err := dec.Decode(&struct{}{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("script: holds more than one document")
	}
	if len(file.Rules) == 0 {
		return nil, errors.New("script: rules: missing; give at least one rule")
	}
	s = &Script{models: file.Models, rules: file.Rules}
	var errs []error
	for i := range s.rules {
		errs = append(errs, s.prepareRule(i)...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

// mistakes collects what is wrong below one path.
type mistakes struct {
	path string
	errs []error
}

func (f *mistakes) add(key, format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("script: %s.%s: %s", f.path, key, fmt.Sprintf(format, args...)))
}

// prepareRule checks a rule and compiles its texts.
func (s *Script) prepareRule(i int) []error {
	r := &s.rules[i]
	f := &mistakes{path: fmt.Sprintf("rules[%d]", i)}
	if r.Name == "" {
		r.Name = f.path
	}
	if r.Times < 0 {
		f.add("times", "is negative; leave it out for no limit")
	}
	if i < len(s.rules)-1 && r.Times == 0 && r.When.isUnconditional() {
		f.add("when", "matches every request, so the rules after it are never reached")
	}
	r.When.checkConditions(f)
	if r.When.Model != "" && len(s.models) > 0 && !slices.Contains(s.models, r.When.Model) {
		f.add("when.model", "is not in models, so the rule can't match")
	}
	r.Reply.checkReply(f)
	r.Reply.compileTexts(f)
	return f.errs
}

func (w *when) checkConditions(f *mistakes) {
	if !slices.Contains([]string{"", "system", "developer", "user", "assistant", "tool"}, w.LastRole) {
		f.add("when.last_role", "is not a role; use system, developer, user, assistant or tool")
	}
	if !slices.Contains([]string{"", formatText, formatObject, formatSchema}, w.Format) {
		f.add("when.format", "is not known; use text, json_object or json_schema")
	}
	counts := map[string]*int{"tool_results": w.ToolResults, "min_tool_results": w.MinToolResults, "max_tool_results": w.MaxToolResults}
	for key, n := range counts {
		if n != nil && *n < 0 {
			f.add("when."+key, "is negative")
		}
	}
	if w.MinToolResults != nil && w.MaxToolResults != nil && *w.MinToolResults > *w.MaxToolResults {
		f.add("when.min_tool_results", "is greater than max_tool_results, so the rule can't match")
	}
	if w.Turn != nil && *w.Turn < 1 {
		f.add("when.turn", "is counted from 1")
	}
	if w.HasTool != "" && w.HasTools != nil && !*w.HasTools {
		f.add("when.has_tools", "is false beside has_tool, so the rule can't match")
	}
}

// checkReply refuses replies that mix an answer, a failure and silence.
func (r *reply) checkReply(f *mistakes) {
	answers := r.Content != nil || r.Refusal != "" || len(r.ToolCalls) > 0
	fails := r.Status != 0 || r.Body != nil || r.ContentType != ""
	switch {
	case r.Hang && (answers || fails):
		f.add("reply.hang", "stands beside something to say")
	case answers && fails:
		f.add("reply", "holds an answer (content, refusal, tool_calls) and a failure (status, body, content_type); choose one")
	case r.Fault != "" && (fails || r.Hang):
		f.add("reply.fault", "stands beside a status, a body or hang; it spoils an answer, or comes alone")
	case !answers && !fails && !r.Hang && r.Fault == "":
		f.add("reply", "is empty; give content, tool_calls, status, body, hang or fault")
	case !answers && (r.FinishReason != "" || r.Usage != nil):
		f.add("reply", "has a finish_reason or usage without an answer")
	}
	if _, ok := misdeeds[r.Fault]; !ok && r.Fault != "" {
		f.add("reply.fault", "is not known; use one of %s", joinNames(Faults()))
	}
	if r.Status != 0 && (r.Status < 200 || r.Status > 599) {
		f.add("reply.status", "is not between 200 and 599")
	}
	if r.Status/100 == 2 && r.Body == nil {
		f.add("reply.status", "is a success without a body; use content or tool_calls")
	}
	if r.Delay < 0 || r.Delay > maxDelay {
		f.add("reply.delay", "is not between 0s and %s", maxDelay)
	}
	for i, tc := range r.ToolCalls {
		if tc.Name == "" {
			f.add(fmt.Sprintf("reply.tool_calls[%d].name", i), "missing")
		}
	}
	if !slices.Contains([]string{"", "stop", "length", "tool_calls", "content_filter"}, r.FinishReason) {
		f.add("reply.finish_reason", "is not known; use stop, length, tool_calls or content_filter")
	}
}

func joinNames(all []Fault) string {
	words := make([]string, len(all))
	for i, f := range all {
		words[i] = string(f)
	}
	return strings.Join(words, ", ")
}
