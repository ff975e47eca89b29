package policies

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Section is a part of a policy in lines: a key of the configuration, a skill, a prompt.
type Section struct {
	Name  string   `json:"name"`
	Lines []string `json:"lines"`
}

// Sections returns the policy in lines, to be shown and compared. A text that can't be read is one
// section.
func (p Policy) Sections() []Section {
	var doc struct {
		Configuration map[string]json.RawMessage `json:"configuration"`
		Skills        []struct {
			Name string `json:"name"`
		} `json:"skills"`
		LeftOut []string `json:"left_out"`
	}
	var raw struct {
		Skills []json.RawMessage `json:"skills"`
	}
	if json.Unmarshal(p.Text, &doc) != nil || json.Unmarshal(p.Text, &raw) != nil {
		return []Section{{"policy", splitLines(p.Text)}}
	}
	out := []Section{}
	for key, value := range doc.Configuration {
		out = append(out, Section{key, splitLines(value)})
	}
	slices.SortFunc(out, func(a, b Section) int { return strings.Compare(a.Name, b.Name) })
	for i, s := range doc.Skills {
		out = append(out, Section{"skill " + s.Name, splitLines(raw.Skills[i])})
	}
	if len(doc.LeftOut) > 0 {
		out = append(out, Section{"left out", doc.LeftOut})
	}
	for _, one := range p.Prompts {
		head := fmt.Sprintf("version %s of program %s, sha256 %s", one.Version, one.Program, one.SHA256)
		out = append(out, Section{"prompt for " + one.Model, append([]string{head}, strings.Split(one.Text, "\n")...)})
	}
	return out
}

// splitLines writes JSON in lines.
func splitLines(raw []byte) []string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return []string{string(raw)}
	}
	return strings.Split(b.String(), "\n")
}

// Change is a section that differs. Lines begin with "- " where the first policy alone has them, with
// "+ " where the second has, and with two spaces around those.
type Change struct {
	Name  string   `json:"name"`
	Lines []string `json:"lines"`
}

// Diff returns how the second policy differs from the first, section by section.
func Diff(first, second Policy) []Change {
	before, after := map[string][]string{}, map[string][]string{}
	var names []string
	for _, s := range first.Sections() {
		before[s.Name] = append(before[s.Name], s.Lines...)
		names = append(names, s.Name)
	}
	for _, s := range second.Sections() {
		after[s.Name] = append(after[s.Name], s.Lines...)
		if _, known := before[s.Name]; !known {
			names = append(names, s.Name)
		}
	}
	out, done := []Change{}, map[string]bool{}
	for _, name := range names {
		if done[name] || slices.Equal(before[name], after[name]) {
			continue
		}
		done[name] = true
		out = append(out, Change{name, diffLines(before[name], after[name])})
	}
	return out
}

const (
	// around is how many equal lines are shown around those that differ.
	around = 2
	// maxTable is up to how many pairs of lines are compared. Longer sections are shown whole.
	maxTable = 4 << 20
)

// diffLines returns the lines that differ, with those around them.
func diffLines(a, b []string) []string {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	lines := slices.Concat(mark("  ", a[:head]), compareLines(a[head:len(a)-tail], b[head:len(b)-tail]), mark("  ", a[len(a)-tail:]))
	return cutEqual(lines)
}

func mark(with string, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = with + l
	}
	return out
}

// compareLines finds the longest lines in common, and marks the others.
func compareLines(a, b []string) []string {
	if len(a)*len(b) > maxTable {
		return append(mark("- ", a), mark("+ ", b)...)
	}
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width) // of a[i:] and b[j:]
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out = append(out, "  "+a[i])
			i, j = i+1, j+1
		case common[(i+1)*width+j] >= common[i*width+j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return append(append(out, mark("- ", a[i:])...), mark("+ ", b[j:])...)
}

// cutEqual leaves out equal lines that are far from those that differ.
func cutEqual(lines []string) []string {
	near := make([]bool, len(lines))
	for i, l := range lines {
		if l[0] == ' ' {
			continue
		}
		for k := max(0, i-around); k <= min(len(lines)-1, i+around); k++ {
			near[k] = true
		}
	}
	var out []string
	gap := false
	for i, l := range lines {
		if !near[i] {
			gap = true
			continue
		}
		if gap && len(out) > 0 {
			out = append(out, "  …")
		}
		out, gap = append(out, l), false
	}
	return out
}
