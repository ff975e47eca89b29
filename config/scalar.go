package config

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

const label = `[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?`

// patterns of texts, and how they are put into words. The schema has them too.
var patterns = map[string]struct{ re, words string }{
	"locale": {`^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,4}$`, "a language, and a region, such as de-AT"},
	"id":     {`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`, "a letter, then up to 63 letters, digits, _, . and -"},
	"prefix": {`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$`, "a letter or digit, then up to 63 letters, digits, _, ., : and -"},
	"host": {`^(?:\*\.(?:` + label + `\.)+|(?:` + label + `\.)*)` + label + `$`,
		"a host such as example.com, or *.example.com for those below it, without scheme, port and path (international names as xn--…)"},
}

// scalarKind is what YAML 1.2 makes of a plain scalar.
type scalarKind uint8

const (
	textScalar scalarKind = iota
	nullScalar
	boolScalar
	intScalar
	floatScalar
	oddScalar // .inf, .nan and 007: what they mean differs between readers
)

var (
	intRE   = regexp.MustCompile(`^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	floatRE = regexp.MustCompile(`^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$`)
	oddRE   = regexp.MustCompile(`^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|[-+]?0[0-9]+)$`)
)

// scalarKind resolves a scalar. A text in quotes is always text here, and so is a
// text that the environment gave. Keys that want a number read that text instead.
func (n *node) scalarKind() scalarKind {
	switch {
	case n.quoted || n.outside:
		return textScalar
	case n.isNull():
		return nullScalar
	}
	switch n.text {
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return boolScalar
	}
	if c := n.text[0]; c != '.' && c != '-' && c != '+' && (c < '0' || c > '9') {
		return textScalar // nearly all: spare them the patterns
	}
	switch {
	case oddRE.MatchString(n.text):
		return oddScalar
	case intRE.MatchString(n.text):
		return intScalar
	case floatRE.MatchString(n.text):
		return floatScalar
	}
	return textScalar
}

// isPlainScalar reports whether the scalar may stand for a number or a word like true.
// Such a scalar has no quotes, or the environment gave it.
func (n *node) isPlainScalar() bool { return n.kind == scalarNode && (!n.quoted || n.outside) }

// decodeText decodes a text, held to the field's words and pattern.
func (d *decoder) decodeText(p place, v reflect.Value, f field) {
	if p.n.kind != scalarNode {
		d.reportMistake(p, p.n.pos, "must be text%s", describeGot(p.n))
		return
	}
	s := p.n.text
	if f.enum != nil {
		if !slices.Contains(f.enum, s) {
			d.reportMistake(p, p.n.pos, "must be one of %s%s%s", strings.Join(f.enum, ", "), describeGot(p.n), suggestWord(p.n, f.enum))
			return
		}
		v.SetString(s)
		return
	}
	if p.n.scalarKind() != textScalar {
		d.reportMistake(p, p.n.pos, "must be text; write %s in quotes", quoteWord(s))
		return
	}
	if strings.TrimSpace(s) == "" && !f.has(emptyText) {
		d.reportMistake(p, p.n.pos, "is empty; write a value or remove the key")
		return
	}
	if pat, ok := patterns[f.pattern]; ok && !regexp.MustCompile(pat.re).MatchString(s) {
		d.reportMistake(p, p.n.pos, "must be %s%s", pat.words, describeGot(p.n))
		return
	}
	v.SetString(s)
}

// suggestWord suggests a word for a value that isn't secret.
func suggestWord(n *node, known []string) string {
	if n.outside {
		return ""
	}
	if near := skills.Nearest(n.text, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

func (d *decoder) decodeBool(p place, v reflect.Value) {
	if p.n.isPlainScalar() {
		switch p.n.text {
		case "true", "True", "TRUE":
			v.SetBool(true)
			return
		case "false", "False", "FALSE":
			v.SetBool(false)
			return
		}
	}
	d.reportMistake(p, p.n.pos, "must be true or false%s", describeGot(p.n))
}

// decodeInt decodes a whole number within the field's bounds.
func (d *decoder) decodeInt(p place, v reflect.Value, f field) {
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	if f.min != "" {
		lo, _ = strconv.ParseInt(f.min, 10, 64)
	}
	if f.max != "" {
		hi, _ = strconv.ParseInt(f.max, 10, 64)
	}
	if p.n.isPlainScalar() {
		i, err := strconv.ParseInt(p.n.text, 10, 64)
		if err == nil && i >= lo && i <= hi && strconv.FormatInt(i, 10) == p.n.text {
			v.SetInt(i)
			return
		}
	}
	if lo == hi {
		d.reportMistake(p, p.n.pos, "must be %d%s", lo, describeGot(p.n))
		return
	}
	d.reportMistake(p, p.n.pos, "must be a whole number from %d to %d%s", lo, hi, describeGot(p.n))
}

// decodeDuration decodes a duration within the field's bounds.
func (d *decoder) decodeDuration(p place, v reflect.Value, f field) {
	if p.n.kind != scalarNode {
		d.reportMistake(p, p.n.pos, "must be a duration such as 30s, 5m or 1h30m%s", describeGot(p.n))
		return
	}
	t, err := time.ParseDuration(p.n.text)
	if err != nil {
		d.reportMistake(p, p.n.pos, "must be a duration such as 30s, 5m or 1h30m%s%s", describeGot(p.n), adviseHours(p.n.text))
		return
	}
	lo, _ := time.ParseDuration(f.min) // from our own tags
	hi, _ := time.ParseDuration(f.max)
	switch {
	case t >= lo && t <= hi, f.has(orNever) && t == 0:
		v.SetInt(int64(t))
	case f.has(orNever):
		d.reportMistake(p, p.n.pos, "must be 0s, which is never, or from %s to %s%s", f.min, f.max, describeGot(p.n))
	default:
		d.reportMistake(p, p.n.pos, "must be from %s to %s%s", f.min, f.max, describeGot(p.n))
	}
}

var hundredthsRE = regexp.MustCompile(`^(?:0|1|0?\.[0-9]+|[01]\.[0-9]+)$`)

// decodeHundredths decodes a number from 0 to 1 without ever making it a float.
func (d *decoder) decodeHundredths(p place, v reflect.Value) {
	if !p.n.isPlainScalar() || !hundredthsRE.MatchString(p.n.text) {
		d.reportMistake(p, p.n.pos, "must be a number from 0 to 1%s", describeGot(p.n))
		return
	}
	whole, frac, _ := strings.Cut(p.n.text, ".")
	frac = strings.TrimRight(frac, "0")
	if len(frac) > 2 {
		d.reportMistake(p, p.n.pos, "must have at most two decimals%s", describeGot(p.n))
		return
	}
	h, _ := strconv.Atoi((frac + "00")[:2]) // digits: the pattern saw to it
	if whole == "1" {
		h += 100
	}
	if h > 100 {
		d.reportMistake(p, p.n.pos, "must be a number from 0 to 1%s", describeGot(p.n))
		return
	}
	v.SetInt(int64(h))
}

// adviseHours returns the remedy for a duration in days, which Go's durations don't
// have.
func adviseHours(text string) string {
	days, found := strings.CutSuffix(text, "d")
	n, err := strconv.ParseUint(days, 10, 16)
	if !found || err != nil {
		return ""
	}
	return fmt.Sprintf("; days are written in hours: %dh", n*24)
}

// decodeNumber decodes a number and keeps every digit that was written.
func (d *decoder) decodeNumber(p place) Number {
	if p.n.kind == scalarNode && p.n.isPlainScalar() {
		n := *p.n
		n.outside = false // a number is read from the environment too
		if k := n.scalarKind(); k == intScalar || k == floatScalar {
			if s, ok := jsonNumber(n.text); ok {
				return Number(s)
			}
		}
	}
	d.reportMistake(p, p.n.pos, "must be a number%s", describeGot(p.n))
	return ""
}

var costRE = regexp.MustCompile(`^[0-9]{1,7}(?:\.[0-9]{1,6})?$`)

// decodeCost decodes an amount without ever making it a float.
func (d *decoder) decodeCost(p place, v reflect.Value, f field) {
	if !p.n.isPlainScalar() || !costRE.MatchString(p.n.text) {
		d.reportMistake(p, p.n.pos, "must be an amount such as 2.50, with at most six decimals%s", describeGot(p.n))
		return
	}
	whole, frac, _ := strings.Cut(p.n.text, ".")
	n, _ := strconv.ParseInt(whole+(frac + "000000")[:6], 10, 64) // digits: the pattern saw to it
	if n > maxCost*1_000_000 {
		d.reportMistake(p, p.n.pos, "must be an amount up to %d%s", maxCost, describeGot(p.n))
		return
	}
	if f.has(positive) && n == 0 { // a bound of nothing would be read as no bound
		d.reportMistake(p, p.n.pos, "must be more than 0%s; leave it out for no bound", describeGot(p.n))
		return
	}
	v.SetInt(n)
}
