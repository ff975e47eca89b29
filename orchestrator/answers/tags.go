package answers

import (
	"regexp"
	"strings"
)

// active are elements that load or run something without an attribute, or
// change how the rest is read.
var active = map[string]bool{
	"script": true, "style": true, "svg": true, "math": true, "iframe": true, "frame": true, "object": true, "embed": true, "applet": true,
	"link": true, "base": true, "meta": true, "form": true, "template": true, "noscript": true, "xml": true, "portal": true,
}

// plainTag is a link or an image with nothing in it that two readers could
// read in two ways; the addresses still have to be allowed.
var (
	plainTag = regexp.MustCompile(`^<(?:a|img)(?: (?:` +
		`(?:href|src)="https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/%+=?-]*)?"|` +
		`(?:alt|title)="[A-Za-z0-9 ,_-]*"|(?:width|height)="[0-9]{1,5}"))+ ?/?>`)
	plainHost = regexp.MustCompile(`"https?://([A-Za-z0-9.-]+)`)
)

// tag handles "<".
func (d *defanger) tag(i int) int {
	j := i + 1
	if d.is(j, '/') {
		j++
	}
	if j >= len(d.ch) || !letter(d.ch[j]) {
		return d.keep(i, i+1)
	}
	if end, ok := d.bareTag(i, j); ok {
		return d.keep(i, end)
	}
	if end, ok := d.plainURL(j); ok && j == i+1 && d.plain(i, end) {
		return d.keep(i, end)
	}
	if end, ok := d.mailbox(i, j); ok {
		return d.keep(i, end)
	}
	if n := d.allowedTag(d.src[d.start(i):]); n > 0 && d.plain(i, i+n) {
		return d.keep(i, i+n)
	}
	i, d.counted = d.split(i), true
	return i
}

// bareTag returns the end of a tag that has no attribute and does nothing.
func (d *defanger) bareTag(i, j int) (int, bool) {
	k := j
	for k < len(d.ch) && (letter(d.ch[k]) || digit(d.ch[k]) || d.ch[k] == '-') {
		d.looked++
		k++
	}
	name := string(d.ch[j:k])
	if d.is(k, ' ') {
		k++
	}
	if d.is(k, '/') {
		k++
	}
	if !d.is(k, '>') || active[name] || !d.plain(i, k+1) {
		return 0, false
	}
	return k + 1, true
}

// mailbox returns the end of <name@host>, which names no page.
func (d *defanger) mailbox(i, j int) (int, bool) {
	at := false
	for k := j; k < len(d.ch); k++ {
		d.looked++
		switch c := d.ch[k]; {
		case letter(c) || digit(c) || strings.ContainsRune("._+-", c):
		case c == '@' && !at:
			at = true
		default:
			return k + 1, c == '>' && at && d.plain(i, k+1)
		}
	}
	return 0, false
}

// allowedTag returns the size of the tag that a text begins with, 0 unless
// all its addresses are allowed.
func (d *defanger) allowedTag(text string) int {
	end := strings.IndexAny(text[1:], "<>") // no further: time stays linear
	if end < 0 {
		d.looked += len(text)
		return 0
	}
	d.looked += end
	tag := plainTag.FindString(text[:end+2])
	for _, m := range plainHost.FindAllStringSubmatch(tag, -1) {
		if !d.hosts.allow(strings.ToLower(m[1])) {
			return 0
		}
	}
	return len(tag)
}
