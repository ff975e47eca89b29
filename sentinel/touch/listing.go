package touch

import (
	paths "path"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// counted is seq; without an end it never stops.
func counted(args []string) stream {
	if slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "inf") || strings.EqualFold(a, "infinity") }) {
		return stream{open: true, endless: true}
	}
	from := 1
	var to int
	var err error
	switch len(args) {
	case 1:
		to, err = strconv.Atoi(args[0])
	case 2:
		var err2 error
		from, err2 = strconv.Atoi(args[0])
		if to, err = strconv.Atoi(args[1]); err2 != nil {
			err = err2
		}
	default:
		return stream{open: true}
	}
	if err != nil || to-from > maxAlts {
		return stream{open: true}
	}
	var out strings.Builder
	for i := from; i <= to; i++ {
		out.WriteString(strconv.Itoa(i))
		out.WriteByte('\n')
	}
	return known(out.String())
}

// renames is dirname, basename, realpath and readlink, which print a path.
func (s *shell) renames(name string, args []field) stream {
	ops := operands(args, "s")
	if len(ops) == 0 || len(ops) > 8 {
		return stream{open: true}
	}
	if name == "basename" && len(ops) == 2 && !flag(args, "a", "multiple") {
		t := paths.Base(ops[0].text)
		if cutOff := strings.TrimSuffix(t, ops[1].text); cutOff != "" {
			t = cutOff
		}
		return known(t + "\n")
	}
	var out strings.Builder
	for _, o := range ops {
		t := o.text
		switch name {
		case "dirname":
			t = paths.Dir(strings.TrimRight(t, "/"))
			if strings.HasPrefix(o.text, "/") && t == "." {
				t = "/"
			}
		case "basename":
			t = paths.Base(t)
		case "realpath", "readlink":
			if t = s.resolve(t)[0]; name == "realpath" || flag(args, "fem", "canonicalize") {
				t = s.c.links.Follow(t)
			}
		}
		out.WriteString(t)
		out.WriteByte('\n')
	}
	return known(out.String())
}

// lists is ls and what else prints names of files: what a pattern with a folder
// names is printed with it; of a folder, what is in it.
func (s *shell) lists(name string, args []field) stream {
	out := stream{open: true}
	if name == "compgen" {
		if len(args) == 2 && args[0].text == "-G" {
			out.trees = append(out.trees, args[1].text)
		}
		return out
	}
	ops := operands(args, "IwT")
	if name != "ls" {
		for _, o := range ops {
			out.some = append(out.some, "/"+strings.TrimLeft(o.text, "/"))
		}
		return out
	}
	if len(ops) == 0 {
		ops = literals([]string{"."})
	}
	for _, o := range ops {
		last := paths.Base(o.text)
		switch {
		case o.unknown:
		case strings.ContainsAny(o.text, "*?[") && path.IsEveryEntry(last):
			out.trees = append(out.trees, o.text)
		case strings.ContainsAny(o.text, "*?["):
			out.some = append(out.some, o.text)
		case o.text == "." || o.text == "./":
			out.trees = append(out.trees, "./*")
		default: // names without their folder
			out.some = append(out.some, "./$entry")
		}
	}
	return out
}
