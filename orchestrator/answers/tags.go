package answers

import (
	"regexp"
	"strings"
)

// active are elements that load or run something without an attribute, or
// change how the rest is read.
var activeElements = map[string]bool{
	"script": true, "style": true, "svg": true, "math": true, "iframe": true, "frame": true, "object": true, "embed": true, "applet": true,
	"link": true, "base": true, "meta": true, "form": true, "template": true, "noscript": true, "xml": true, "portal": true,
}

// plainTag is a link or an image that two readers can't read in two ways. The addresses
// still have to be allowed.
var (
	plainTag = regexp.MustCompile(`^<(?:a|img)(?: (?:` +
		`(?:href|src)="https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/%+=?-]*)?"|` +
		`(?:alt|title)="[A-Za-z0-9 ,_-]*"|(?:width|height)="[0-9]{1,5}"))+ ?/?>`)
	plainHost = regexp.MustCompile(`"https?://([A-Za-z0-9.-]+)`)
)

// onTag handles "<".
func (d *defanger) onTag(i int) int {
	j := i + 1
	if d.isRune(j, '/') {
		j++
	}
	if j >= len(d.ch) || !isLetter(d.ch[j]) {
		return d.copyText(i, i+1)
	}
	if end, ok := d.findBareTag(i, j); ok {
		return d.copyText(i, end)
	}
	if end, ok := d.findPlainURL(j); ok && j == i+1 && d.isPlain(i, end) {
		return d.copyText(i, end)
	}
	if end, ok := d.findMailbox(i, j); ok {
		return d.copyText(i, end)
	}
	if n := d.measureAllowedTag(d.src[d.startOf(i):]); n > 0 && d.isPlain(i, i+n) {
		return d.copyText(i, i+n)
	}
	i, d.counted = d.splitLink(i), true
	return i
}

// findBareTag returns the end of a tag that has no attribute and does nothing.
func (d *defanger) findBareTag(i, j int) (int, bool) {
	k := j
	for k < len(d.ch) && (isLetter(d.ch[k]) || isDigit(d.ch[k]) || d.ch[k] == '-') {
		d.looked++
		k++
	}
	name := string(d.ch[j:k])
	if d.isRune(k, ' ') {
		k++
	}
	if d.isRune(k, '/') {
		k++
	}
	if !d.isRune(k, '>') || activeElements[name] || !d.isPlain(i, k+1) {
		return 0, false
	}
	return k + 1, true
}

// findMailbox returns the end of <name@host>, which names no page.
func (d *defanger) findMailbox(i, j int) (int, bool) {
	at := false
	for k := j; k < len(d.ch); k++ {
		d.looked++
		switch c := d.ch[k]; {
		case isLetter(c) || isDigit(c) || strings.ContainsRune("._+-", c):
		case c == '@' && !at:
			at = true
		default:
			return k + 1, c == '>' && at && d.isPlain(i, k+1)
		}
	}
	return 0, false
}

// measureAllowedTag returns the size of the tag that a text begins with, 0 unless
// all its addresses are allowed.
func (d *defanger) measureAllowedTag(text string) int {
	end := strings.IndexAny(text[1:], "<>") // no further: time stays linear
	if end < 0 {
		d.looked += len(text)
		return 0
	}
	d.looked += end
	tag := plainTag.FindString(text[:end+2])
	for _, m := range plainHost.FindAllStringSubmatch(tag, -1) {
		if !d.hosts.isAllowed(strings.ToLower(m[1])) {
			return 0
		}
	}
	return len(tag)
}
