package touch

import (
	"regexp"
	"strings"
)

// queries are the clients that run the statements in their arguments or on
// their input, and in which language.
var queries = map[string]string{
	"psql": "sql", "mysql": "sql", "mariadb": "sql", "sqlite3": "sql", "sqlite": "sql", "cqlsh": "sql", "clickhouse": "sql", "clickhouse-client": "sql", "sqlcmd": "sql",
	"duckdb": "sql", "snowsql": "sql", "cockroach": "sql", "usql": "sql", "bq": "sql", "sqlplus": "sql", "trino": "sql", "presto": "sql", "hive": "sql", "beeline": "sql", "spark-sql": "sql",
	"isql": "sql", "osql": "sql", "pgcli": "sql", "mycli": "sql", "litecli": "sql", "turso": "sql", "wrangler": "sql", "athena": "sql", "db2": "sql",
	"mongo": "mongo", "mongosh": "mongo", "redis-cli": "redis", "valkey-cli": "redis", "keydb-cli": "redis", "iredis": "redis", "memcached": "redis", "cypher-shell": "cypher", "influx": "sql",
}

const maxQuery = 64 << 10

// query looks for statements that empty or drop a table or more.
func (s *shell) query(name string, args []field, in stream) {
	s.scripted(name, args, in)
	lang := queries[name]
	if lang == "" {
		return
	}
	texts := make([]string, 0, len(args)+1)
	for _, a := range args {
		texts = append(texts, a.bare)
		if i := strings.IndexByte(a.bare, '='); strings.HasPrefix(a.bare, "--") && i > 0 {
			texts = append(texts, a.bare[i+1:])
		} else if len(a.bare) > 3 && a.bare[0] == '-' && a.bare[1] != '-' {
			texts = append(texts, a.bare[2:]) // -e"DROP …"
		}
	}
	if in.known {
		texts = append(texts, in.text)
	}
	if lang == "redis" {
		texts = append(texts, strings.Join(texts, " "))
	}
	for _, t := range texts {
		if len(t) > maxQuery {
			s.spent.over = true
			return
		}
		if empties(lang, t) {
			s.doubt(DatabaseLoss)
			return
		}
	}
}

var (
	mongoLoss  = regexp.MustCompile(`(?i)\b(dropDatabase|dropAllUsers|dropAllRoles)\s*\(|\.(drop|dropIndexes)\s*\(\s*\)|\.(deleteMany|remove)\s*\(\s*(\{\s*\})?\s*\)|\bdropDatabase\s*:|"(drop|dropDatabase)"\s*:`)
	redisLoss  = regexp.MustCompile(`(?i)(^|[\s"';])(flushall|flushdb|debug\s+segfault|shutdown\s+nosave|script\s+flush)\b|redis\.call\(\s*['"]flush`)
	cypherLoss = regexp.MustCompile(`(?i)\bdetach\s+delete\b|\bdrop\s+database\b`)
	// sqlNoise are what may hold any word: comments and quoted values.
	sqlNoise = regexp.MustCompile(`'(?:[^']|'')*'|--[^\n]*|/\*[\s\S]*?\*/`)
	sqlLoss  = regexp.MustCompile(`(?i)^\s*(?:explain\s+analyze\s+|begin\s+|do\s+)?(?:drop\s+(?:database|schema|table|keyspace|tablespace|owned|user|role|collection|view|materialized|index|type|function)\b|truncate\b|alter\s+table\s+\S+\s+drop\b|dropdb\b|\.drop\b)`)
	sqlRows  = regexp.MustCompile(`(?i)^\s*(?:with\b[\s\S]*\)\s*)?(?:delete\s+from\b|update\s+[\s\S]*?\bset\b)`)
	sqlWhere = regexp.MustCompile(`(?i)\bwhere\b([\s\S]*)$`)
	sqlTrue  = regexp.MustCompile(`(?i)^\s*(?:true|1|(\d+)\s*=\s*(\d+)|''\s*=\s*'')\s*$`)
	// sqlInner is a statement inside a procedure, or behind a shell's option.
	sqlInner = regexp.MustCompile(`(?i)\bexecute\s+(?:immediate\s+)?\(?\s*'\s*(?:drop|truncate|delete)\b`)
)

// blankOut takes a comment away and a quoted value's text.
func blankOut(s string) string {
	if s[0] == '\'' {
		return "''"
	}
	return " "
}

// empties reports whether text drops or empties what it is about as a whole.
func empties(lang, text string) bool {
	switch lang {
	case "mongo":
		return mongoLoss.MatchString(text)
	case "redis":
		return redisLoss.MatchString(text)
	case "cypher":
		return cypherLoss.MatchString(text)
	}
	if sqlInner.MatchString(text) {
		return true
	}
	for st := range strings.SplitSeq(sqlNoise.ReplaceAllStringFunc(text, blankOut), ";") {
		st = strings.TrimSpace(st)
		if sqlLoss.MatchString(st) {
			return true
		}
		if !sqlRows.MatchString(st) {
			continue
		}
		m := sqlWhere.FindStringSubmatch(st)
		if m == nil {
			return true
		}
		if t := sqlTrue.FindStringSubmatch(m[1]); t != nil && t[1] == t[2] {
			return true
		}
	}
	return false
}
