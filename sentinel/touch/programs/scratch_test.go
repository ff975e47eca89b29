package programs_test

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

func TestScratch(t *testing.T) {
	f, err := os.Open("/tmp/lines.txt")
	if err != nil {
		t.Skip()
	}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if sc.Text() == "" {
			continue
		}
		name, args := splitWords(sc.Text())
		u := programs.ReadWords(name, args)
		fmt.Printf("%s\n      -> %s\n", sc.Text(), tell(sc.Text(), args, u))
	}
}

func tell(line string, args []programs.Word, u programs.Use) string {
	s := ""
	for _, p := range u.Parts {
		if p.Arg < 0 {
			s += " | also " + p.Text
		}
	}
	v := u
	v.Parts = nil
	for _, p := range u.Parts {
		if p.Arg >= 0 {
			v.Parts = append(v.Parts, p)
		}
	}
	s = spell(line, args, v) + s
	if u.Network {
		s += " | network"
	}
	if u.Reads {
		s += " | reads"
	}
	return s
}
