// Package answers turns links and images in an answer into text. A picture that a
// chat window loads sends data without a skill call, and so does a clicked link. An
// attacker who wrote what an agent read could make such a link carry off what the
// agent knows.
//
//	text, n := answers.Defang(answer, answers.Options{Allow: []string{"*.example.com"}, Request: request})
//
// The package isn't stable: docs/api.md lists those that are.
//
// Where a renderer would look for a target (a Markdown link, image or
// definition, an autolink, an HTML tag with attributes) everything is broken
// unless it is plainly written and leads to an allowed host. In the rest of
// the text, addresses are rewritten: https://evil.example/x?q becomes
// hxxps://evil[.]example/…, without path, query and fragment. The words of a
// link stay. The text is read as a renderer might: entities, backslash
// escapes, full-width and invisible characters don't hide anything. Code
// blocks are no exception, since renderers differ about where code ends.
//
// A link that leads to an allowed host has to be written plainly, or it is
// broken as well: no user name, escape, entity, invisible character or
// backslash in its scheme and host.
//
// What not to do: don't take the output for safe HTML (it still needs the
// escaping that any text needs), and don't give hosts whose pages redirect to
// wherever they are told. A bare name such as evil.example stays as it is; a
// window that makes links of bare names has to be told not to.
package answers

import "strings"

// Options say what may stay.
type Options struct {
	// Allow are hosts: example.com is that host alone, *.example.com every
	// host below it, and not itself. International names are written in their
	// ASCII form. None allows none.
	Allow []string
	// Request is the user's own words: hosts in them may stay too.
	Request string
}

// Defang turns every link and image that leads to a host not allowed into text. It returns
// the text and how many there were. Text without any is returned unchanged; what was
// returned once is unchanged the next time. It takes time linear in the text and fails on
// none.
func Defang(text string, o Options) (out string, removed int) {
	d := &defanger{shadow: newShadow(text), hosts: newHosts(o), target: -1}
	return d.defangText(text)
}

// Allowed are the hosts that links of every answer may lead to, as Options.Allow has them.
type Allowed []string

// Defang is the function Defang for an answer to the request.
func (a Allowed) Defang(text, request string) (out string, removed int) {
	return Defang(text, Options{Allow: a, Request: request})
}

// defangText reads the text once and writes it without live links.
func (d *defanger) defangText(text string) (out string, removed int) {
	d.out.Grow(len(text) + len(text)/16)
	if len(d.at) > 0 {
		d.out.WriteString(text[:d.at[0]])
	}
	for i := 0; i < len(d.ch); {
		i = d.onCharacter(i)
		d.looked++
	}
	if d.removed == 0 {
		return text, 0
	}
	return d.out.String(), d.removed
}

// defanger is one text on its way: what it reads as, and what is written.
type defanger struct {
	*shadow
	hosts   hosts
	out     strings.Builder
	removed int
	// counted is set between the break of a tag and its end. target is where the target of
	// the last broken link begins: an address there is the same link.
	counted bool
	target  int
}

// copyText writes the text that stands for characters i to j as it is.
func (d *defanger) copyText(i, j int) int {
	if j > len(d.ch) {
		j = len(d.ch)
	}
	d.out.WriteString(d.src[d.startOf(i):d.startOf(j)])
	return j
}

// splitLink parts the character at i from the next: the two were the beginning of
// a link or a tag.
func (d *defanger) splitLink(i int) int {
	if i >= d.target {
		d.removed++
	}
	i = d.copyText(i, i+1)
	d.out.WriteByte(' ')
	return i
}

// replaceAddress writes s in place of the address at i.
func (d *defanger) replaceAddress(i int, s string) {
	if !d.counted && i != d.target {
		d.removed++
	}
	d.counted = false
	if i > 0 && (isLetter(d.ch[i-1]) || isDigit(d.ch[i-1]) || strings.ContainsRune("+-.", d.ch[i-1]) || d.ch[i-1] == '<' && d.ch[i] == '/') {
		d.out.WriteByte(' ') // or the two would make one scheme, or a tag
	}
	d.out.WriteString(s)
}

// onCharacter handles what begins at i and returns where to go on.
func (d *defanger) onCharacter(i int) int {
	switch c := d.ch[i]; {
	case c == '<':
		return d.onTag(i)
	case c == ']' && d.isRune(i+1, '('):
		return d.onInlineLink(i)
	case c == ']' && d.isRune(i+1, ':'):
		return d.onDefinition(i)
	case c == '/' && d.isRune(i+1, '/'):
		return d.onRelativeAddress(i)
	case c == '\\' && d.isNetworkShare(i):
		return d.onNetworkShare(i)
	case c == ')' || c == '>':
		d.counted = false
	case isLetter(c):
		return d.onLetter(i)
	}
	return d.copyText(i, i+1)
}

// onInlineLink handles "](": the target follows.
func (d *defanger) onInlineLink(i int) int {
	j := d.skipBlanks(i + 2)
	switch {
	case d.isRune(j, ')'):
		return d.copyText(i, i+2)
	case d.isRune(j, '#') && d.isFragment(j+1):
		return d.copyText(i, j+1)
	}
	if d.isRune(j, '<') {
		j++
	}
	if end, ok := d.findPlainURL(j); ok && d.isRestPlain(end) {
		return d.copyText(i, end)
	}
	i, d.target = d.splitLink(i), j
	return i
}

// isRestPlain reports whether nothing in the rest of a target could end it. Some renderers
// know of attributes alone.
func (d *defanger) isRestPlain(i int) bool {
	for ; i < len(d.ch) && !isSpace(d.ch[i]) && d.ch[i] != ')'; i++ {
		d.looked++
		if strings.ContainsRune("\"`", d.ch[i]) {
			return false
		}
	}
	return true
}

// onDefinition handles "]:", which may give a target to a reference. It leaves one alone
// where no target follows that leads anywhere.
func (d *defanger) onDefinition(i int) int {
	j := d.skipBlanks(i + 2)
	if d.isRune(j, '<') {
		j++
	}
	if end, ok := d.findPlainURL(j); ok {
		return d.copyText(i, end)
	}
	if d.isRune(j, '/') || d.isRune(j, '\\') || d.isRune(j, '.') || d.measureScheme(j) > 0 || d.hasWord(j, "www.") || d.hasQuery(j) {
		i, d.target = d.splitLink(i), j
		return i
	}
	return d.copyText(i, i+1)
}

// hasQuery reports whether the word at i asks the page's own host for something.
func (d *defanger) hasQuery(i int) bool {
	for ; i < len(d.ch) && !isSpace(d.ch[i]) && d.ch[i] != ']'; i++ {
		d.looked++
		if strings.ContainsRune("?&=%/", d.ch[i]) {
			return true
		}
	}
	return false
}

// isFragment reports whether what follows is a place in the same page.
func (d *defanger) isFragment(i int) bool {
	for ; i < len(d.ch); i++ {
		d.looked++
		switch c := d.ch[i]; {
		case isLetter(c) || isDigit(c) || c == '-' || c == '_':
		default:
			return c == ')' || isSpace(c)
		}
	}
	return false
}

// onRelativeAddress handles "//": with a host behind it the page's own scheme is used.
func (d *defanger) onRelativeAddress(i int) int {
	end := i
	for d.isRune(end, '/') {
		d.looked++
		end++
	}
	if i > 0 && (d.ch[i-1] == ':' || isLetter(d.ch[i-1]) || isDigit(d.ch[i-1])) {
		return d.copyText(i, end)
	}
	a := d.readAuthority(end)
	if !strings.Contains(strings.Trim(a.text, "."), ".") && a.text != "localhost" && !strings.Contains(a.text, "@") {
		return d.copyText(i, end)
	}
	if end == i+2 && d.isAddressAllowed(i, a) {
		return d.copyText(i, a.end)
	}
	d.replaceAddress(i, "hxxps://"+breakHost(a.text)+"/…")
	return d.skipPath(a.end)
}

// isNetworkShare reports whether a folder of another machine may begin at i, as
// \\host\folder. Some windows make a link of it, and following it hands over who is signed
// in. Two backslashes may be read as one.
func (d *defanger) isNetworkShare(i int) bool {
	if i > 0 && (isLetter(d.ch[i-1]) || isDigit(d.ch[i-1]) || d.ch[i-1] == '\\' || d.ch[i-1] == ':') ||
		!strings.HasPrefix(d.src[d.startOf(i):], `\\`) {
		return false
	}
	a := d.readAuthority(d.skipBackslashes(i))
	return strings.Contains(a.text, ".") && (d.isRune(a.end, '\\') || d.isRune(a.end, '/'))
}

// skipBackslashes returns where the backslashes at i end.
func (d *defanger) skipBackslashes(i int) int {
	for d.isRune(i, '\\') {
		d.looked++
		i++
	}
	return i
}

// onNetworkShare handles \\host\folder: see isNetworkShare.
func (d *defanger) onNetworkShare(i int) int {
	a := d.readAuthority(d.skipBackslashes(i))
	host, _, _ := strings.Cut(a.text, "@") // \\host@SSL
	d.replaceAddress(i, "hxxps://"+breakHost(host)+"/…")
	return d.skipPath(a.end)
}

// onLetter handles a letter: a scheme or www. may begin here.
func (d *defanger) onLetter(i int) int {
	for _, s := range deadSchemes {
		if d.hasWord(i, s) {
			return d.copyText(i, i+len(s)) // our own
		}
	}
	inWord := i > 0 && (isLetter(d.ch[i-1]) || isDigit(d.ch[i-1]))
	for _, w := range webSchemes {
		if !d.hasWord(i, w.name) {
			continue
		}
		j := i + len(w.name)
		if j >= len(d.ch) || isSpace(d.ch[j]) {
			break // prose that ends in a colon
		}
		if end, ok := d.findPlainURL(i); ok {
			return d.copyText(i, end)
		}
		for d.isRune(j, '/') || d.isRune(j, '\\') {
			d.looked++
			j++
		}
		a := d.readAuthority(j)
		d.replaceAddress(i, w.dead+breakHost(a.text)+"/…")
		return d.skipPath(a.end)
	}
	if inWord {
		return d.copyText(i, i+1)
	}
	if d.hasWord(i, "www.") && i+4 < len(d.ch) && isHostRune(d.ch[i+4]) && d.ch[i+4] != '.' {
		return d.onBareHost(i)
	}
	if n := d.measureScheme(i); n > 0 && d.isLiveScheme(i, i+n) {
		d.replaceAddress(i, string(d.ch[i:i+n-1])+"[:]…")
		return d.skipPath(i + n)
	}
	return d.copyText(i, i+1)
}

// onBareHost handles a host that renderers make a link of without a scheme.
func (d *defanger) onBareHost(i int) int {
	a := d.readAuthority(i)
	if d.isAddressAllowed(i, a) {
		return d.copyText(i, a.end)
	}
	d.replaceAddress(i, breakHost(a.text)+"/…")
	return d.skipPath(a.end)
}

// isLiveScheme reports whether the scheme between i and j (after its colon) does
// something where it stands bare.
func (d *defanger) isLiveScheme(i, j int) bool {
	if d.hasWord(j, "//") {
		return true
	}
	if j >= len(d.ch) || isSpace(d.ch[j]) {
		return false
	}
	switch string(d.ch[i : j-1]) {
	case "javascript", "vbscript", "mailto", "file", "blob", "view-source":
		return true
	case "data":
		return d.isDataURL(j)
	}
	return false
}

// isDataURL tells what follows in data:text/html from prose.
func (d *defanger) isDataURL(i int) bool {
	for n := 0; n < 64 && i < len(d.ch); n, i = n+1, i+1 {
		switch c := d.ch[i]; {
		case c == '/' || c == ',' || c == ';':
			return true
		case !isLetter(c) && !isDigit(c) && c != '-' && c != '.' && c != '+':
			return false
		}
	}
	return false
}

// skipPath returns where an address ends whose host ends at i. It skips path, query and
// fragment.
func (d *defanger) skipPath(i int) int {
	depth := 0
	for ; i < len(d.ch); i++ {
		d.looked++
		switch c := d.ch[i]; {
		case isSpace(c) || strings.ContainsRune("<>\"`[]|", c):
			return i
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return i
			}
		}
	}
	return i
}
