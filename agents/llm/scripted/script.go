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

// rule is one entry of a script: when it answers, how often, and what.
type rule struct {
	Name  string `yaml:"name"`
	When  when   `yaml:"when"`
	Times int    `yaml:"times"`
	Reply reply  `yaml:"reply"`
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

// add notes a mistake at a key.
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

// joinNames returns the names of faults as a list for people.
func joinNames(all []Fault) string {
	words := make([]string, len(all))
	for i, f := range all {
		words[i] = string(f)
	}
	return strings.Join(words, ", ")
}
