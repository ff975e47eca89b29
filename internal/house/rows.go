package house

import (
	"fmt"
	"strings"
)

// Row is one figure with its name, and what stands behind it, the worst first.
type Row struct {
	Name, Value string
	Worst       []string
}

// Rows are the figures of a module as a table.
func (m *Measures) Rows() []Row {
	single := m.SingleWords()
	share := 0
	if len(m.Functions) > 0 {
		share = 100 * len(single) / len(m.Functions)
	}
	rows := []Row{
		{Name: "files", Value: fmt.Sprint(m.Files)},
		{Name: "lines", Value: fmt.Sprint(m.Lines)},
		m.spreadRow(),
		{Name: "unexported functions of a single word", Value: fmt.Sprintf("%d%%", share), Worst: namesOf(single)},
		{Name: "median characters of an unexported function's name", Value: fmt.Sprint(m.MedianName())},
		{Name: "median parameters of an unexported function", Value: fmt.Sprint(m.MedianParameters())},
		m.fanOutRow(),
		m.boolsRow(),
		{Name: fmt.Sprintf("lines of more than %d columns", MaxColumns), Value: fmt.Sprint(len(m.Wide)), Worst: placesOf(m.Wide)},
		{Name: strings.Join(bannedWords, ", "), Value: fmt.Sprint(len(m.Banned)), Worst: placesOf(m.Banned)},
	}
	return rows
}

func (m *Measures) spreadRow() Row {
	r := Row{Name: "widest receiver: files its methods lie in", Value: "0"}
	for i, s := range m.Spreads {
		if i == 0 {
			r.Value = fmt.Sprint(len(s.Files))
		}
		r.Worst = append(r.Worst, fmt.Sprintf("%d %s.%s: %s", len(s.Files), s.Package, s.Type, strings.Join(s.Files, " ")))
	}
	return r
}

func (m *Measures) fanOutRow() Row {
	r := Row{Name: "fan-out of a package, largest", Value: "0"}
	for i, f := range m.FanOuts {
		if i == 0 {
			r.Value = fmt.Sprint(len(f.Imports))
		}
		r.Worst = append(r.Worst, fmt.Sprintf("%d %s", len(f.Imports), f.Package))
	}
	return r
}

func (m *Measures) boolsRow() Row {
	r := Row{Name: "bools in one struct, most", Value: "0"}
	for i, s := range m.Structs {
		if i == 0 {
			r.Value = fmt.Sprint(s.Bools)
		}
		r.Worst = append(r.Worst, fmt.Sprintf("%d %s.%s", s.Bools, s.Package, s.Type))
	}
	return r
}

func namesOf(list []Function) (out []string) {
	for _, f := range list {
		name := f.Name
		if f.Receiver != "" {
			name = f.Receiver + "." + name
		}
		out = append(out, fmt.Sprintf("%s:%d %s", f.Pos.Filename, f.Pos.Line, name))
	}
	return out
}

func placesOf(list []Place) (out []string) {
	for _, p := range list {
		out = append(out, fmt.Sprintf("%s:%d %s", p.Pos.Filename, p.Pos.Line, strings.TrimSpace(p.Text)))
	}
	return out
}
