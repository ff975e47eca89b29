package code

import (
	"strings"
)

// The words of SQL that this reader knows, in small letters.
const (
	sqlDropped = " database schema table keyspace tablespace owned user role collection view materialized index type function "
	sqlReads   = " load_file pg_read_file pg_read_binary_file pg_ls_dir readfile lo_import infile " +
		"read_csv read_parquet read_json file read_csv_auto load_extension "
	sqlWrites = " outfile dumpfile writefile lo_export attach disk "
	sqlRuns   = " xp_cmdshell sys_exec sys_eval program "
	// sqlCode run code of another language, or a text as a statement.
	sqlCode = " load_extension sp_oacreate sp_configure dbms_scheduler dbms_java xp_cmdshell sys_exec sys_eval " +
		"utl_http utl_file dblink_connect http_get "
	sqlMade = " function procedure extension language library assembly "
)

// sqlReader reads statements, and the commands of the shells that take them.
type sqlReader struct {
	f    *Findings
	src  string
	toks []token
	low  []string // the words, in small letters
	// copies is set within a statement that copies a table.
	copies bool
	// until is where the last command's line ends.
	until int
}

func readSQL(f *Findings, text string) {
	s := &sqlReader{f: f, src: text, toks: scan(dialectOf("sql"), text, 0)}
	s.low = make([]string, len(s.toks))
	from := 0
	for i, t := range s.toks {
		switch {
		case t.kind == wordTok:
			s.low[i] = strings.ToLower(t.text)
			s.readSQLWord(i)
		case t.kind == textTok:
			s.readSQLText(i)
		case t.text == `\` || (t.text == "." || t.text == "!") && t.first:
			s.readSQLCommand(i)
		case t.text == ";":
			f.addLoss(s.losesData(from, i))
			from, s.copies = i+1, false
		}
	}
	f.addLoss(s.losesData(from, len(s.toks)))
}

func (s *sqlReader) lowAt(i int) string {
	if i < 0 || i >= len(s.low) {
		return ""
	}
	return s.low[i]
}

// readSQLWord looks for words that run something, and for the commands of
// MySQL and SQL*Plus at the beginning of a line.
func (s *sqlReader) readSQLWord(i int) {
	w := s.low[i]
	before := s.lowAt(i - 1)
	s.copies = s.copies || w == "copy" || w == "unload" || w == "export"
	switch {
	case among(sqlCode, w), among(sqlMade, w) && (before == "create" || before == "replace" || before == "trusted"),
		w == "system" && before == "alter", strings.HasPrefix(w, "$") && before == "do",
		w == "from" && s.lowAt(i-2) == "prepare" && s.next(i) == "@", w == "exec" && s.next(i) == "(":
		s.f.Unread = true
	case among(" system source tee pager host ", w) && (s.toks[i].first || s.toks[i-1].text == ";"):
		s.f.readMeta(w, s.lineFrom(s.toks[i].at+len(w)))
	}
}

func (s *sqlReader) next(i int) string {
	if i+1 >= len(s.toks) {
		return ""
	}
	return s.toks[i+1].text[:min(1, len(s.toks[i+1].text))]
}

func (s *sqlReader) lineFrom(at int) string {
	line, _, _ := strings.Cut(s.src[min(at, len(s.src)):], "\n")
	return line
}

// readSQLText looks at what stands before a text: a function of files, or a
// part of a statement that names one.
func (s *sqlReader) readSQLText(i int) {
	t := s.toks[i]
	k := i - 1
	for k > 0 && s.toks[k].kind == signTok && (s.toks[k].text == "(" || s.toks[k].text == "=") {
		k--
	}
	word := s.lowAt(k)
	if word == "database" && s.lowAt(k-1) == "attach" {
		word = "attach"
	}
	switch {
	case among(sqlRuns, word) || word == "" && k > 2 && s.lowAt(k-3) == "edit":
		s.f.addLine(t.text)
	case among(sqlWrites, word), word == "into" && s.lowAt(k-1) == "vacuum", word == "to" && s.copies:
		s.f.addPath(t.text, ToWrite)
	case among(sqlReads, word), word == "from" && s.copies:
		s.f.addPath(t.text, ToRead)
	case (word == "execute" || word == "immediate") && s.begins(t.text, "drop", "truncate", "delete"):
		s.f.addLoss(true)
	case word == "immediate" && t.text == "":
		s.f.Unread = true
	}
}

func (s *sqlReader) begins(text string, words ...string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, w := range words {
		if strings.HasPrefix(text, w) {
			return true
		}
	}
	return false
}

// readSQLCommand reads ".shell ls", "\! ls" and "!ls".
func (s *sqlReader) readSQLCommand(i int) {
	at, name := s.toks[i].at+1, "!"
	if at < s.until {
		return
	}
	if s.toks[i].text != "!" {
		if i+1 >= len(s.toks) || s.toks[i+1].at != at || s.toks[i].text == "." && s.toks[i+1].text == "." {
			return
		}
		name = strings.ToLower(s.toks[i+1].text)
		at += len(name)
	}
	line := s.lineFrom(at)
	s.until = at + len(line)
	s.f.readMeta(name, line)
}

// losesData reports whether a statement drops or empties what it is about as
// a whole.
func (s *sqlReader) losesData(from, to int) bool {
	for s.lowAt(from) == "begin" || s.lowAt(from) == "do" || s.lowAt(from) == "explain" || s.lowAt(from) == "analyze" && from > 0 {
		from++
	}
	if from >= to {
		return false
	}
	switch w := s.low[from]; {
	case w == "drop" && from+1 < to && among(sqlDropped, s.low[from+1]), w == "truncate", w == "dropdb":
		return true
	case w == "alter" && s.lowAt(from+1) == "table":
		for k := from + 2; k < to; k++ {
			if s.low[k] == "drop" {
				return true
			}
		}
		return false
	case w == "" && s.toks[from].text == "." && s.lowAt(from+1) == "drop":
		return true
	}
	for k := from; k < to; k++ {
		if k > from && (s.low[from] != "with" || s.toks[k-1].text != ")") {
			if s.low[from] != "with" {
				return false
			}
			continue
		}
		if s.low[k] == "delete" && s.lowAt(k+1) == "from" || s.low[k] == "update" {
			return s.takesAll(k, to)
		}
	}
	return false
}

// takesAll reports whether a statement on rows has no condition, or one that
// is always true.
func (s *sqlReader) takesAll(from, to int) bool {
	set := s.low[from] == "delete"
	for k := from; k < to; k++ {
		set = set || s.low[k] == "set"
		if s.low[k] != "where" {
			continue
		}
		rest := s.toks[k+1 : to]
		switch len(rest) {
		case 1:
			return strings.EqualFold(rest[0].text, "true") || rest[0].text == "1"
		case 3:
			return rest[1].text == "=" && rest[0].text == rest[2].text && rest[0].kind != wordTok
		}
		return false
	}
	return set
}

// readMeta reads a command of psql, sqlite3, mysql or sqlplus.
func (f *Findings) readMeta(name, rest string) {
	rest = strings.TrimSpace(rest)
	file := strings.Trim(rest, `'"`)
	switch name {
	case "shell", "system", "!", "!!", "host", `\!`, "pager", `\p`:
		f.addLine(file)
		return
	case "load", "gexec", "setenv":
		f.Unread = true
		return
	case "copy":
		if k := strings.LastIndexAny(rest, " "); k > 0 && !strings.ContainsAny(rest, `'"`) {
			access := ToRead
			if strings.Contains(strings.ToLower(rest), " to ") {
				access = ToWrite
			}
			f.addPath(rest[k:], access)
		}
		return
	}
	if strings.HasPrefix(file, "|") {
		f.addLine(strings.TrimLeft(file, "| "))
		return
	}
	words := strings.Fields(file)
	if len(words) == 0 || words[0] == "stdout" || words[0] == "off" {
		return
	}
	switch name {
	case "read", "i", "ir", ".", "source", `\.`:
		f.addPath(words[0], ToRead|ToExecute)
	case "import", "restore", "lo_import", "cd":
		f.addPath(words[0], ToRead)
	case "output", "once", "o", "out", "w", "s", "log", "tee", `\t`, "backup", "save", "open", "lo_export":
		f.addPath(words[len(words)-1], ToWrite)
	}
}
