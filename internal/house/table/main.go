// Command table prints how a Go module reads, as package house measures it.
//
//	go run ./internal/house/table             this module
//	go run ./internal/house/table -list 10    and the ten worst of each row
//	go run ./internal/house/table FOLDER      another module, to compare with
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/vedette-dev/vedette/internal/house"
)

func main() {
	list := flag.Int("list", 0, "print the worst of each row, as many as this")
	flag.Parse()
	dir := "."
	if flag.NArg() > 0 {
		dir = flag.Arg(0)
	}
	if err := printTable(os.Stdout, dir, *list); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func printTable(w io.Writer, dir string, list int) error {
	module, err := readModule(dir)
	if err != nil {
		return err
	}
	m, err := house.Measure(os.DirFS(dir), module)
	if err != nil {
		return err
	}
	for _, r := range m.Rows() {
		if _, err := fmt.Fprintf(w, "%-56s %6s\n", r.Name, r.Value); err != nil {
			return err
		}
		for _, worst := range r.Worst[:min(list, len(r.Worst))] {
			if _, err := fmt.Fprintf(w, "    %s\n", worst); err != nil {
				return err
			}
		}
	}
	return nil
}

// readModule is the path of the module whose go.mod lies in dir.
func readModule(dir string) (string, error) {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, ok := strings.CutPrefix(s.Text(), "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", fmt.Errorf("%s/go.mod names no module; name the folder of a Go module", dir)
}
