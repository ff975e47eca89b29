package testprovider

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// rows are what the table of clients says of scenarios.
var rows = []struct{ name, scenario string }{
	{"text only", "text"}, {"one call", "one"}, {"parallel calls", "parallel"}, {"the first is blocked", "block_first"},
	{"the middle one is blocked", "block_middle"}, {"the last is blocked", "block_last"}, {"all are blocked", "block_all"},
	{"the last is incomplete", "incomplete"}, {"the upstream fails mid-stream", "fault"}, {"the judge is slow", "slow"},
	{"a person is asked, and says yes", "ask"},
}

// Table is the part of a page that says what clients end up with: a table under a heading, with a column for each client.
type Table struct {
	// Page is a file, Heading a line in it.
	Page, Heading string
}

// Compare says whether a client's column is what the client ended up with. With update it writes the column.
func (t Table) Compare(client string, m Endings, update bool) error {
	raw, err := os.ReadFile(t.Page)
	if err != nil {
		return err
	}
	lines := strings.Split(string(raw), "\n")
	from, to := t.find(lines)
	if from < 0 {
		return fmt.Errorf("%s has no heading %q", t.Page, t.Heading)
	}
	cells := [][]string{{"the answer", client}, {"---", "---"}}
	if from < to {
		cells = readCells(lines[from:to])
	}
	at := slices.Index(cells[0], client)
	if at < 0 && !update {
		return fmt.Errorf("%s has no column %q; run the test with -update", t.Page, client)
	}
	cells = setColumn(cells, at, client, m)
	var made []string
	for _, row := range cells {
		made = append(made, "| "+strings.Join(row, " | ")+" |")
	}
	switch {
	case slices.Equal(made, lines[from:to]):
		return nil
	case !update:
		return fmt.Errorf("%s says something else of %s; run the test with -update, and read the difference", t.Page, client)
	}
	if from == to {
		made = append(made, "")
	}
	lines = slices.Concat(lines[:from], made, lines[to:])
	return os.WriteFile(t.Page, []byte(strings.Join(lines, "\n")), 0o600)
}

// find returns where the table begins and ends: the lines with bars behind the heading, or a place for them.
func (t Table) find(lines []string) (from, to int) {
	at := slices.Index(lines, t.Heading)
	if at < 0 {
		return -1, -1
	}
	for from = at + 1; from < len(lines) && lines[from] == ""; from++ {
	}
	for to = from; to < len(lines) && strings.HasPrefix(lines[to], "|"); to++ {
	}
	return from, to
}

func readCells(lines []string) (cells [][]string) {
	for _, line := range lines {
		cells = append(cells, strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | "))
	}
	return cells
}

// setColumn has one column say what a client ended up with. A column below 0 is a new one.
func setColumn(cells [][]string, at int, client string, m Endings) [][]string {
	head := [][]string{{"the answer", client}, {"---", "---"}}
	for _, row := range rows {
		head = append(head, []string{row.name, m.Show(row.scenario)})
	}
	if len(cells) != len(head) { // a table with other rows begins again
		return head
	}
	for i := range cells {
		if at < 0 {
			cells[i] = append(cells[i], head[i][1])
		} else {
			cells[i][at] = head[i][1]
		}
	}
	return cells
}
