package touch

import (
	"regexp"
	"strings"
)

var (
	dotShell   = regexp.MustCompile(`(?i)^\s*\.(?:shell|system|sh|sys)\s+(.+)$`)
	dotFile    = regexp.MustCompile(`(?i)^\s*\.(output|once|backup|save|clone|log|trace|excel|open|read|restore|import|load|dump)\s+(.+)$`)
	backShell  = regexp.MustCompile(`\\!\s*([^\n]+)|^\s*(?:system|\\g|pager|tee)\s+([^\n]+)`)
	backFile   = regexp.MustCompile(`\\(o|w|copy|i|ir|include|g|gx|\.|lo_import|lo_export|T|s)\s+([^\n]+)`)
	bangShell  = regexp.MustCompile(`(?im)^\s*(?:!!|!|host\s|:!!)\s*(.+)$`)
	sqlProgram = regexp.MustCompile(`(?i)\b(?:to|from)\s+program\s+(?:e|\$\$)?'((?:[^']|'')*)'`)
	sqlFiles   = regexp.MustCompile(`(?i)\b(copy\b[^;']*\bto|copy\b[^;']*\bfrom|into\s+(?:outfile|dumpfile)|load\s+data(?:\s+local)?\s+infile|attach(?:\s+database)?|vacuum\b[^;']*\binto|\\copy\b[^;']*\bto|\\copy\b[^;']*\bfrom)\s*'([^']+)'`)
	sqlEdit    = regexp.MustCompile(`(?i)\bedit\s*\([^,']*(?:'[^']*'[^,']*)?,\s*'([^']+)'`)
	sqlCalls   = regexp.MustCompile(`(?i)\b(writefile|readfile|load_file|pg_read_file|pg_read_binary_file|lo_import|lo_export|edit|fsdir|pg_ls_dir|read_csv|read_csv_auto|read_text|read_blob|read_json|load_extension|sys_exec|sys_eval|xp_cmdshell)\s*\(?\s*'([^']+)'`)
)

// database reads what its client does beside the database: shells, files.
func (s *shell) database(name string, args []field, in stream, mark string) {
	texts := make([]string, 0, len(args)+1)
	for _, a := range args {
		texts = append(texts, a.text)
		if i := strings.IndexByte(a.text, '='); strings.HasPrefix(a.text, "--") && i > 0 {
			texts = append(texts, a.text[i+1:])
		} else if len(a.text) > 3 && a.text[0] == '-' && a.text[1] != '-' {
			texts = append(texts, a.text[2:])
		}
	}
	if in.known {
		texts = append(texts, in.text)
	}
	for _, t := range texts {
		if len(t) > maxQuery {
			continue // query has said so
		}
		s.sqlText(t)
		switch mark {
		case ".":
			s.dotLines(t)
		case `\`:
			for _, m := range backShell.FindAllStringSubmatch(t, 64) {
				s.guesswork(strings.TrimLeft(m[1]+m[2], "| "))
			}
			s.backFiles(name, t)
		default:
			for _, m := range bangShell.FindAllStringSubmatch(t, 64) {
				s.guesswork(m[1])
			}
		}
	}
}

func (s *shell) dotLines(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := dotShell.FindStringSubmatch(line); m != nil {
			s.guesswork(m[1])
		} else if m := dotFile.FindStringSubmatch(line); m != nil {
			s.filePipe(m[2], !strings.ContainsAny(strings.ToLower(m[1])[:1], "rild"))
		}
	}
}

// filePipe is a file's name, or a command behind a bar.
func (s *shell) filePipe(arg string, writes bool) {
	arg = strings.TrimSpace(arg)
	if cmd, ok := strings.CutPrefix(strings.Trim(arg, `"'`), "|"); ok {
		s.guesswork(cmd)
		return
	}
	for w := range strings.FieldsSeq(arg) {
		w = strings.Trim(w, `"';`)
		if !rooted(w) {
			continue
		}
		if f := (field{text: w, bare: w}); writes {
			s.writes(f)
		} else {
			s.path(f, Read)
		}
	}
}

func (s *shell) backFiles(_, text string) {
	for _, m := range backFile.FindAllStringSubmatch(text, 64) {
		lower := strings.ToLower(m[2])
		if i := strings.Index(lower, " program "); i >= 0 {
			s.guesswork(strings.Trim(m[2][i+len(" program "):], "' "))
			continue
		}
		writes := m[1] == "o" || m[1] == "w" || m[1] == "g" || m[1] == "lo_export" || m[1] == "T" || m[1] == "s" || m[1] == "copy" && strings.Contains(lower, " to ")
		s.filePipe(m[2], writes)
	}
}

// sqlText reads the statements that run programs or touch the server's files.
func (s *shell) sqlText(text string) {
	if strings.IndexByte(text, '\'') < 0 {
		return
	}
	for _, m := range sqlProgram.FindAllStringSubmatch(text, 64) {
		s.guesswork(strings.ReplaceAll(m[1], "''", "'"))
	}
	for _, m := range sqlFiles.FindAllStringSubmatch(text, 64) {
		f := field{text: m[2], bare: m[2]}
		if how := strings.ToLower(m[1]); strings.HasSuffix(how, "from") || strings.HasSuffix(how, "infile") {
			s.path(f, Read)
		} else if rooted(m[2]) {
			s.writes(f)
		} else {
			s.path(f, Write)
		}
	}
	for _, m := range sqlEdit.FindAllStringSubmatch(text, 64) {
		s.guesswork(m[1])
	}
	for _, m := range sqlCalls.FindAllStringSubmatch(text, 64) {
		f := field{text: m[2], bare: m[2]}
		switch strings.ToLower(m[1]) {
		case "writefile", "lo_export":
			s.writes(f)
		case "sys_exec", "sys_eval", "xp_cmdshell":
			s.guesswork(m[2])
		case "edit":
		default:
			s.path(f, Read)
		}
	}
}
