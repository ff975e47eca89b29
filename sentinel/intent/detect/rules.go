package detect

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Family is a kind of attack.
type Family string

// The families: the five of the seed document, and phrases that give orders to a model.
const (
	Command   Family = "command"
	SQL       Family = "sql"
	Script    Family = "script"
	Path      Family = "path"
	Cloud     Family = "cloud"
	Injection Family = "injection"
)

// Families lists all families.
func Families() []Family { return []Family{Command, SQL, Script, Path, Cloud, Injection} }

// rule is one pattern. It is looked at only around one of its words, so a text without them costs nothing.
type rule struct {
	id      string // "family.what"
	family  Family
	score   int      // hundredths
	words   []string // texts of which every match of the pattern has one
	back    int      // how many bytes before the word the pattern may begin
	pattern *regexp.Regexp
}

// ahead is how many bytes from its word on a pattern looks at.
const ahead = 200

//go:embed rules.txt
var rulesText string

// rulesReader reads the file of rules.
type rulesReader struct {
	defined map[string]string
	rules   []rule
}

// readRules reads rules in the form of rules.txt.
func readRules(text string) ([]rule, error) {
	r := rulesReader{defined: map[string]string{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := r.readLine(line); err != nil {
			return nil, fmt.Errorf("the detector's rules, line %d: %w", n, err)
		}
	}
	return r.rules, r.checkWhole()
}

// readLine reads one line that says something.
func (r *rulesReader) readLine(line string) error {
	key, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	if key == "define" {
		name, pattern, _ := strings.Cut(rest, " ")
		r.defined["{{"+name+"}}"] = strings.TrimSpace(pattern)
		return nil
	}
	if key == "rule" {
		return r.beginRule(strings.Fields(rest))
	}
	if len(r.rules) == 0 {
		return fmt.Errorf("%q stands before any rule", key)
	}
	last := &r.rules[len(r.rules)-1]
	switch key {
	case "pattern":
		for name, pattern := range r.defined {
			rest = strings.ReplaceAll(rest, name, pattern)
		}
		// Where the pattern may begin is said, so that one that doesn't match is given up after a few characters.
		p, err := regexp.Compile(fmt.Sprintf(`^(?s:.{0,%d}?)(%s)`, last.back, rest))
		last.pattern = p
		return err
	case "words":
		return last.readWords(rest)
	}
	return fmt.Errorf("%q is none of define, rule, pattern and words", key)
}

// beginRule reads the head of a rule: its id, its score, and how far it looks back.
func (r *rulesReader) beginRule(fields []string) error {
	if len(fields) != 2 && (len(fields) != 4 || fields[2] != "back") {
		return fmt.Errorf("a rule has an id, a score, and perhaps back and a number")
	}
	one := rule{id: fields[0], back: 1}
	family, _, _ := strings.Cut(one.id, ".")
	if one.family = Family(family); !slices.Contains(Families(), one.family) {
		return fmt.Errorf("%q is of no family", one.id)
	}
	var err error
	if one.score, err = strconv.Atoi(fields[1]); err == nil && len(fields) == 4 {
		one.back, err = strconv.Atoi(fields[3])
	}
	r.rules = append(r.rules, one)
	return err
}

// readWords reads the quoted words of a rule.
func (one *rule) readWords(rest string) error {
	for rest != "" {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return fmt.Errorf("the words of %s are not quoted: %w", one.id, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil || word == "" {
			return fmt.Errorf("a word of %s is empty", one.id)
		}
		one.words = append(one.words, word)
		rest = strings.TrimSpace(rest[len(quoted):])
	}
	return nil
}

// checkWhole refuses rules that could never match or stand twice.
func (r *rulesReader) checkWhole() error {
	seen := map[string]bool{}
	for _, one := range r.rules {
		if one.pattern == nil || len(one.words) == 0 || one.score < 1 || one.score > 100 || seen[one.id] {
			return fmt.Errorf("the detector's rule %s has no pattern, no words or no score, or stands twice", one.id)
		}
		seen[one.id] = true
	}
	return nil
}
