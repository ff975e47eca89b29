package snapshot

import (
	"slices"
	"strings"
)

// setting is one setting of a configuration like git's. The key has section and name in small
// letters, the value is as it is written.
type setting struct{ key, value string }

// listSettings returns the settings that aren't plain. It reads more than git would: a text
// that git refuses, or the words of a comment, only ask once too often.
func listSettings(text string) []setting {
	var out []setting
	section := ""
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", ""), "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if rest, found := strings.CutPrefix(line, "["); found {
			head, after, _ := strings.Cut(rest, "]")
			section = strings.ToLower(strings.TrimRight(strings.SplitN(head, "\"", 2)[0], " \t"))
			section, _, _ = strings.Cut(section, ".")
			line = strings.TrimSpace(after)
		}
		if rest, found := strings.CutPrefix(line, "%include"); found {
			out = append(out, setting{".%include", strings.TrimSpace(rest)})
			continue
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		if !slices.Contains(gitSettings[section], key) || !isPlainRemote(value) {
			out = append(out, setting{section + "." + key, value})
		}
	}
	return out
}

// folderKeys name a folder of which all is run, or copied to where it is.
var folderKeys = []string{"core.hookspath", "init.templatedir"}

// fileKeys name a file that steers, without a slash too.
var fileKeys = []string{"include.path", "includeif.path", ".%include", "core.attributesfile"}

// listPlaces returns the words of a setting that may be paths. One word alone without a slash
// is a program of the system, and an alias is git's own command unless it says otherwise.
func (s setting) listPlaces() (words []string, folder bool) {
	words = splitWords(s.value)
	if slices.Contains(folderKeys, s.key) {
		if strings.HasPrefix(s.value, ".") && strings.Trim(s.value, "./ \"#;") == "" {
			words = append(words, strings.TrimRight(s.value, " \"#;"))
		}
		return words, true
	}
	alias := strings.HasPrefix(s.key, "alias.") && !strings.HasPrefix(strings.TrimLeft(s.value, `"'`), "!")
	alone := !strings.ContainsAny(s.value, "/ \t") && !slices.Contains(fileKeys, s.key)
	if alias || alone {
		return nil, false
	}
	return words, false
}

// includesFile reports whether a setting names a file with more settings.
func (s setting) includesFile() bool {
	return slices.Contains(fileKeys, s.key) && !strings.HasPrefix(s.key, "core.")
}

// splitWords returns the words of a value that may be paths. They are the value as a whole and
// its parts, without quotes and what marks a command.
func splitWords(value string) []string {
	plain := strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(value)
	words := strings.FieldsFunc(plain, func(r rune) bool { return strings.ContainsRune(" \t;|&<>()$`,=:", r) })
	words = append(words, plain)
	for i, w := range words {
		words[i] = strings.TrimLeft(w, "!-@")
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" || strings.Trim(w, "./") == "" })
}
