package bash

import (
	"slices"
	"strings"
)

func toSet(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}

// listOperands returns the arguments that are no options; values are the short
// options that take the next word.
func listOperands(args []field, values string) []field {
	if !slices.ContainsFunc(args, func(f field) bool { return len(f.text) > 1 && f.text[0] == '-' }) {
		return slices.Clip(args) // no options: the common case, asked several times of each command
	}
	var out []field
	for i := 0; i < len(args); i++ {
		a := args[i].text
		switch {
		case a == "--":
			return append(out, args[i+1:]...)
		case len(a) > 1 && a[0] == '-':
			if a[1] != '-' && strings.IndexByte(values, a[len(a)-1]) >= 0 {
				i++
			}
		default:
			out = append(out, args[i])
		}
	}
	return out
}

// asksHelp reports whether a program only says how it is used. Behind an
// operand or "--" the word may be a file's name.
func asksHelp(args []field) bool {
	for _, a := range args {
		switch {
		case a.text == "--help" || a.text == "--version":
			return true
		case a.text == "--" || a.text == "" || a.text[0] != '-' || a.unknown:
			return false
		}
	}
	return false
}

func hasWord(args []field, word string) bool {
	return slices.ContainsFunc(args, func(f field) bool { return f.text == word })
}

// hasFlag reports whether a short option, alone or in a cluster, or a long one,
// whole or abbreviated, is given.
func hasFlag(args []field, short string, long ...string) bool {
	for _, a := range args {
		t := a.text
		if t == "--" {
			return false
		}
		if name, ok := strings.CutPrefix(t, "--"); ok {
			name, _, _ = strings.Cut(name, "=")
			if name != "" && slices.ContainsFunc(long, func(l string) bool { return strings.HasPrefix(l, name) }) {
				return true
			}
			continue
		}
		if len(t) > 1 && t[0] == '-' && strings.ContainsAny(t[1:], short) {
			return true
		}
	}
	return false
}

func cutAny(s, chars string) (before, after string, found bool) {
	i := strings.IndexAny(s, chars)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// isAssignment reports whether a word is NAME=value.
func isAssignment(text string) bool {
	i := strings.IndexByte(text, '=')
	if i <= 0 {
		return false
	}
	for j := range i {
		if !isLetter(text[j]) && text[j] != '_' && (j == 0 || !isDigit(text[j])) {
			return false
		}
	}
	return true
}
