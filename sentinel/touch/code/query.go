package code

import (
	"regexp"
	"strings"
	"sync"
)

// The patterns of statements that aren't SQL.
var (
	mongoLoss = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(dropDatabase|dropAllUsers|dropAllRoles)\s*\(|\.(drop|dropIndexes)\s*\(\s*\)|\.(deleteMany|` +
			`remove)\s*\(\s*(\{\s*\})?\s*\)|\bdropDatabase\s*:|"(drop|dropDatabase)"\s*:`)
	})
	redisLoss = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(^|[\s"';])(flushall|flushdb|debug\s+segfault|shutdown\s+nosave|script\s+flush)\b|` +
			`redis\.call\(\s*['"]flush`)
	})
	redisDanger = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^|[\s;])(?:config\s+set\s+["']?(?:dir|dbfilename|requirepass|protected-mode)|module\s+load|replicaof|` +
			`slaveof|migrate|function\s+load|debug\s|acl\s+setuser|cluster\s+(?:reset|failover))\b`)
	})
	cypherLoss = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bdetach\s+delete\b|\bdrop\s+database\b`)
	})
)

func (f *Findings) addLoss(lost bool) {
	if lost {
		f.Effects = append(f.Effects, "database_destroy")
	}
}

func readMongo(f *Findings, text string) {
	f.addLoss(mongoLoss().MatchString(text))
	readProgram(f, "js", text)
}

func readRedis(f *Findings, text string) {
	f.addLoss(redisLoss().MatchString(text))
	f.Unread = f.Unread || redisDanger().MatchString(text)
	if name, rest, _ := strings.Cut(strings.TrimSpace(text), " "); strings.EqualFold(name, "eval") {
		script, _ := cutDelimited(strings.TrimSpace(rest))
		f.Inner = append(f.Inner, Inline{"lua", script})
	}
}

func readCypher(f *Findings, text string) {
	f.addLoss(cypherLoss().MatchString(text))
	f.Unread = f.Unread || strings.Contains(strings.ToLower(text), "apoc.")
}
