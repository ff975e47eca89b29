package touch

import (
	"regexp"
	"strings"
)

// replace is sed with one or more s commands on plain text.
func replace(args []string, in string) (string, bool) {
	if len(args) == 2 && (args[0] == "-e" || args[0] == "-E" || args[0] == "-r") {
		args = args[1:]
	}
	if len(args) != 1 || len(args[0]) > 256 {
		return "", false
	}
	for _, c := range strings.Split(args[0], ";") {
		c = strings.TrimSpace(c)
		if len(c) < 4 || c[0] != 's' {
			return "", false
		}
		parts := strings.Split(c[2:], c[1:2])
		if len(parts) != 3 || strings.Trim(parts[2], "gI") != "" || strings.ContainsAny(parts[1], `\&`) {
			return "", false
		}
		re, err := regexp.Compile("(?m)" + parts[0])
		if err != nil {
			return "", false
		}
		with := strings.ReplaceAll(parts[1], "$", "$$")
		if parts[2] == "" {
			if at := re.FindStringIndex(in); at != nil && strings.Count(strings.TrimSuffix(in, "\n"), "\n") == 0 {
				in = in[:at[0]] + parts[1] + in[at[1]:]
				continue
			}
		}
		in = re.ReplaceAllString(in, with)
	}
	return in, true
}

var printColumn = regexp.MustCompile(`^\s*\{\s*print\s+\$(\d)\s*;?\s*\}\s*$`)

// column is awk '{print $2}'.
func column(args []string, in string) (string, bool) {
	sep, prog := "", ""
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-F" && i+1 < len(args):
			i++
			sep = args[i]
		case strings.HasPrefix(args[i], "-F"):
			sep = args[i][2:]
		case prog == "":
			prog = args[i]
		default:
			return "", false
		}
	}
	m := printColumn.FindStringSubmatch(prog)
	if m == nil {
		return "", false
	}
	n := int(m[1][0] - '0')
	var out strings.Builder
	for line := range strings.Lines(in) {
		line = strings.TrimSuffix(line, "\n")
		parts := strings.Fields(line)
		if sep != "" && sep != " " {
			parts = strings.Split(line, sep)
		}
		switch {
		case n == 0:
			out.WriteString(line)
		case n <= len(parts):
			out.WriteString(parts[n-1])
		}
		out.WriteByte('\n')
	}
	return out.String(), true
}
