package code

import (
	"regexp"
	"strings"
	"sync"
)

// queryWords are the patterns of statements, compiled when the first one is read.
type queryWords struct {
	mongo, redis, redisDanger, cypher, noise, loss, rows, where, always, inner, files, code, meta, mysql *regexp.Regexp
}

var statements = sync.OnceValue(func() queryWords {
	return queryWords{
		mongo: regexp.MustCompile(`(?i)\b(dropDatabase|dropAllUsers|dropAllRoles)\s*\(|\.(drop|dropIndexes)\s*\(\s*\)|\.(deleteMany|` +
			`remove)\s*\(\s*(\{\s*\})?\s*\)|\bdropDatabase\s*:|"(drop|dropDatabase)"\s*:`),
		redis: regexp.MustCompile(`(?i)(^|[\s"';])(flushall|flushdb|debug\s+segfault|shutdown\s+nosave|script\s+flush)\b|` +
			`redis\.call\(\s*['"]flush`),
		redisDanger: regexp.MustCompile(`(?i)(?:^|[\s;])(?:config\s+set\s+["']?(?:dir|dbfilename|requirepass|protected-mode)|module\s+load|replicaof|` +
			`slaveof|migrate|function\s+load|debug\s|acl\s+setuser|cluster\s+(?:reset|failover))\b`),
		cypher: regexp.MustCompile(`(?i)\bdetach\s+delete\b|\bdrop\s+database\b`),
		// They hold any word: comments and quoted values.
		noise: regexp.MustCompile(`'(?:[^']|'')*'|--[^\n]*|/\*[\s\S]*?\*/`),
		loss: regexp.MustCompile(`(?i)^\s*(?:explain\s+analyze\s+|begin\s+|do\s+)?(?:drop\s+(?:database|schema|table|keyspace|tablespace|owned|` +
			`user|role|collection|view|materialized|index|type|function)\b|truncate\b|alter\s+table\s+\S+\s+drop\b|` +
			`dropdb\b|\.drop\b)`),
		rows:   regexp.MustCompile(`(?i)^\s*(?:with\b[\s\S]*\)\s*)?(?:delete\s+from\b|update\s+[\s\S]*?\bset\b)`),
		where:  regexp.MustCompile(`(?i)\bwhere\b([\s\S]*)$`),
		always: regexp.MustCompile(`(?i)^\s*(?:true|1|(\d+)\s*=\s*(\d+)|''\s*=\s*'')\s*$`),
		// It is a statement inside a procedure, or behind an option of a shell.
		inner: regexp.MustCompile(`(?i)\bexecute\s+(?:immediate\s+)?\(?\s*'\s*(?:drop|truncate|delete)\b`),
		// A file or a command stands in a quoted value behind them.
		files: regexp.MustCompile(`(?i)\b(?:(copy)\b[^;']*?\b(to|from)\s+(program\s+)?|(load_file|pg_read_file|pg_read_binary_file|pg_ls_dir|` +
			`readfile|lo_import|load\s+data\s+(?:local\s+)?infile|read_csv|read_parquet|read_json|file)\s*\(?\s*|` +
			`(into\s+(?:outfile|dumpfile)|writefile|lo_export\s*\(\s*\d+\s*,|attach(?:\s+database)?|vacuum\s+into|` +
			`backup\s+\w+\s+to\s+disk\s*=)\s*\(?\s*|(xp_cmdshell|edit\s*\(\s*(?:'[^']*'|"[^"]*")\s*,|sys_exec|` +
			`sys_eval)\s*\(?\s*)(?:'((?:[^']|'')*)'|"([^"]*)")`),
		code: regexp.MustCompile(`(?i)\b(?:load_extension|sp_oacreate|sp_configure|dbms_scheduler|dbms_java|` +
			`create\s+(?:or\s+replace\s+)?(?:function|procedure|extension|trusted\s+language|language|library|assembly)|` +
			`alter\s+system|xp_cmdshell|sys_exec|sys_eval|utl_http|utl_file|dblink_connect|http_get|do\s+\$\$)\b|` +
			`\bdo\s+\$\w*\$|\bprepare\s+\w+\s+from\s+@|\bexecute\s+immediate\s+[^'\s]|\bexec\s*\(\s*@`),
		// Shells of databases have commands of their own.
		meta: regexp.MustCompile(`(?im)^\s*(?:\.(shell|system|read|output|once|import|load|backup|save|open|restore|log|excel|dump|cd)\b|\\(!|i|` +
			`ir|o|out|g|w|copy|lo_import|lo_export|\.|s|gexec|setenv)|(!{1,2}|host\b|ed\b))[ \t]*(.*)$`),
		mysql: regexp.MustCompile(`(?i)(?:^|;)\s*(system|source|tee|pager|\\!|\\\.|\\T|\\P)\s+([^;\n]+)`),
	}
})

// blankOut takes a comment away and the text of a quoted value.
func blankOut(s string) string {
	if s[0] == '\'' {
		return "''"
	}
	return " "
}

// losesData reports whether statements drop or empty what they are about as a
// whole.
func losesData(text string) bool {
	w := statements()
	if w.inner.MatchString(text) {
		return true
	}
	for st := range strings.SplitSeq(w.noise.ReplaceAllStringFunc(text, blankOut), ";") {
		st = strings.TrimSpace(st)
		if w.loss.MatchString(st) {
			return true
		}
		if !w.rows.MatchString(st) {
			continue
		}
		m := w.where.FindStringSubmatch(st)
		if m == nil {
			return true
		}
		if t := w.always.FindStringSubmatch(m[1]); t != nil && t[1] == t[2] {
			return true
		}
	}
	return false
}

func (f *Findings) addLoss(lost bool) {
	if lost {
		f.Effects = append(f.Effects, "database_destroy")
	}
}

// readSQL reads statements, and the commands of the shells that take them.
func readSQL(f *Findings, text string) {
	f.addLoss(losesData(text))
	w := statements()
	for _, m := range w.files.FindAllStringSubmatch(text, maxFound) {
		name := m[7] + m[8]
		switch {
		case m[3] != "" || m[6] != "":
			f.addLine(strings.ReplaceAll(name, "''", "'"))
		case m[5] != "" || strings.EqualFold(m[2], "to"):
			f.addPath(name, ToWrite)
		default:
			f.addPath(name, ToRead)
		}
	}
	for _, m := range w.meta.FindAllStringSubmatch(text, maxFound) {
		f.readMeta(strings.ToLower(m[1]+m[2]+m[3]), m[4])
	}
	for _, m := range w.mysql.FindAllStringSubmatch(text, maxFound) {
		f.readMeta(strings.ToLower(m[1]), m[2])
	}
	f.Unread = f.Unread || w.code.MatchString(w.noise.ReplaceAllStringFunc(text, blankOut))
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

func readMongo(f *Findings, text string) {
	f.addLoss(statements().mongo.MatchString(text))
	readProgram(f, "js", text)
}

func readRedis(f *Findings, text string) {
	w := statements()
	f.addLoss(w.redis.MatchString(text))
	f.Unread = f.Unread || w.redisDanger.MatchString(text)
	if name, rest, _ := strings.Cut(strings.TrimSpace(text), " "); strings.EqualFold(name, "eval") {
		script, _ := cutDelimited(strings.TrimSpace(rest))
		f.Inner = append(f.Inner, Inline{"lua", script})
	}
}

func readCypher(f *Findings, text string) {
	f.addLoss(statements().cypher.MatchString(text))
	f.Unread = f.Unread || strings.Contains(strings.ToLower(text), "apoc.")
}
