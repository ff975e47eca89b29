// Package answers turns links and images in an answer into text. A picture that a
// chat window loads sends data without a skill call, and so does a clicked link. An
// attacker who wrote what an agent read could make such a link carry off what the
// agent knows.
//
//	text, n := answers.Defang(answer, answers.Options{Allow: []string{"*.example.com"}, Request: request})
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

// Defang returns the text with every link and image that leads to a host not
// allowed turned into text, and how many there were. Text without any is
// returned unchanged; what was returned once is unchanged the next time. It
// takes time linear in the text and fails on none.
func Defang(text string, o Options) (out string, removed int) {
	d := &defanger{shadow: newShadow(text), hosts: newHosts(o), target: -1}
	return d.defang(text)
}

func (d *defanger) defang(text string) (out string, removed int) {
	d.out.Grow(len(text) + len(text)/16)
	if len(d.at) > 0 {
		d.out.WriteString(text[:d.at[0]])
	}
	for i := 0; i < len(d.ch); {
		i = d.step(i)
		d.looked++
	}
	if d.removed == 0 {
		return text, 0
	}
	return d.out.String(), d.removed
}

type defanger struct {
	*shadow
	hosts   hosts
	out     strings.Builder
	removed int
	// counted is set between the break of a tag and its end, and target is
	// where the target of the last broken link begins: an address there is the
	// same link.
	counted bool
	target  int
}

// keep writes the text that stands for characters i to j as it is.
func (d *defanger) keep(i, j int) int {
	if j > len(d.ch) {
		j = len(d.ch)
	}
	d.out.WriteString(d.src[d.start(i):d.start(j)])
	return j
}

// split parts the character at i from the next: the two were the beginning of
// a link or a tag.
func (d *defanger) split(i int) int {
	if i >= d.target {
		d.removed++
	}
	i = d.keep(i, i+1)
	d.out.WriteByte(' ')
	return i
}

// replace writes s in place of the address at i.
func (d *defanger) replace(i int, s string) {
	if !d.counted && i != d.target {
		d.removed++
	}
	d.counted = false
	if i > 0 && (letter(d.ch[i-1]) || digit(d.ch[i-1]) || strings.ContainsRune("+-.", d.ch[i-1]) || d.ch[i-1] == '<' && d.ch[i] == '/') {
		d.out.WriteByte(' ') // or the two would make one scheme, or a tag
	}
	d.out.WriteString(s)
}

// step handles what begins at i and returns where to go on.
func (d *defanger) step(i int) int {
	switch c := d.ch[i]; {
	case c == '<':
		return d.tag(i)
	case c == ']' && d.is(i+1, '('):
		return d.inline(i)
	case c == ']' && d.is(i+1, ':'):
		return d.definition(i)
	case c == '/' && d.is(i+1, '/'):
		return d.relative(i)
	case c == '\\' && d.share(i):
		return d.unc(i)
	case c == ')' || c == '>':
		d.counted = false
	case letter(c):
		return d.address(i)
	}
	return d.keep(i, i+1)
}

// inline handles "](": the target follows.
func (d *defanger) inline(i int) int {
	j := d.blank(i + 2)
	switch {
	case d.is(j, ')'):
		return d.keep(i, i+2)
	case d.is(j, '#') && d.fragment(j+1):
		return d.keep(i, j+1)
	}
	if d.is(j, '<') {
		j++
	}
	if end, ok := d.plainURL(j); ok && d.plainRest(end) {
		return d.keep(i, end)
	}
	i, d.target = d.split(i), j
	return i
}

// plainRest reports whether nothing in the rest of a target could end it for a
// renderer that knows of attributes alone.
func (d *defanger) plainRest(i int) bool {
	for ; i < len(d.ch) && !space(d.ch[i]) && d.ch[i] != ')'; i++ {
		d.looked++
		if strings.ContainsRune("\"`", d.ch[i]) {
			return false
		}
	}
	return true
}

// definition handles "]:", which may give a target to a reference, and is
// left alone where no target follows that leads anywhere.
func (d *defanger) definition(i int) int {
	j := d.blank(i + 2)
	if d.is(j, '<') {
		j++
	}
	if end, ok := d.plainURL(j); ok {
		return d.keep(i, end)
	}
	if d.is(j, '/') || d.is(j, '\\') || d.is(j, '.') || d.scheme(j) > 0 || d.has(j, "www.") || d.query(j) {
		i, d.target = d.split(i), j
		return i
	}
	return d.keep(i, i+1)
}

// query reports whether the word at i asks the page's own host for something.
func (d *defanger) query(i int) bool {
	for ; i < len(d.ch) && !space(d.ch[i]) && d.ch[i] != ']'; i++ {
		d.looked++
		if strings.ContainsRune("?&=%/", d.ch[i]) {
			return true
		}
	}
	return false
}

// fragment reports whether what follows is a place in the same page.
func (d *defanger) fragment(i int) bool {
	for ; i < len(d.ch); i++ {
		d.looked++
		switch c := d.ch[i]; {
		case letter(c) || digit(c) || c == '-' || c == '_':
		default:
			return c == ')' || space(c)
		}
	}
	return false
}

// relative handles "//": with a host behind it the page's own scheme is used.
func (d *defanger) relative(i int) int {
	end := i
	for d.is(end, '/') {
		d.looked++
		end++
	}
	if i > 0 && (d.ch[i-1] == ':' || letter(d.ch[i-1]) || digit(d.ch[i-1])) {
		return d.keep(i, end)
	}
	a := d.authority(end)
	if !strings.Contains(strings.Trim(a.text, "."), ".") && a.text != "localhost" && !strings.Contains(a.text, "@") {
		return d.keep(i, end)
	}
	if end == i+2 && d.allowed(i, a) {
		return d.keep(i, a.end)
	}
	d.replace(i, "hxxps://"+broken(a.text)+"/…")
	return d.rest(a.end)
}

// share reports whether a folder of another machine may begin at i, as
// \\host\folder: some windows make a link of it, and following it hands over
// who is signed in. Two backslashes may be read as one.
func (d *defanger) share(i int) bool {
	if i > 0 && (letter(d.ch[i-1]) || digit(d.ch[i-1]) || d.ch[i-1] == '\\' || d.ch[i-1] == ':') ||
		!strings.HasPrefix(d.src[d.start(i):], `\\`) {
		return false
	}
	a := d.authority(d.afterBackslashes(i))
	return strings.Contains(a.text, ".") && (d.is(a.end, '\\') || d.is(a.end, '/'))
}

func (d *defanger) afterBackslashes(i int) int {
	for d.is(i, '\\') {
		d.looked++
		i++
	}
	return i
}

func (d *defanger) unc(i int) int {
	a := d.authority(d.afterBackslashes(i))
	host, _, _ := strings.Cut(a.text, "@") // \\host@SSL
	d.replace(i, "hxxps://"+broken(host)+"/…")
	return d.rest(a.end)
}

// address handles a letter: a scheme or www. may begin here.
func (d *defanger) address(i int) int {
	for _, s := range dead {
		if d.has(i, s) {
			return d.keep(i, i+len(s)) // our own
		}
	}
	inWord := i > 0 && (letter(d.ch[i-1]) || digit(d.ch[i-1]))
	for _, w := range web {
		if !d.has(i, w.name) {
			continue
		}
		j := i + len(w.name)
		if j >= len(d.ch) || space(d.ch[j]) {
			break // prose that ends in a colon
		}
		if end, ok := d.plainURL(i); ok {
			return d.keep(i, end)
		}
		for d.is(j, '/') || d.is(j, '\\') {
			d.looked++
			j++
		}
		a := d.authority(j)
		d.replace(i, w.dead+broken(a.text)+"/…")
		return d.rest(a.end)
	}
	if inWord {
		return d.keep(i, i+1)
	}
	if d.has(i, "www.") && i+4 < len(d.ch) && inHost(d.ch[i+4]) && d.ch[i+4] != '.' {
		return d.www(i)
	}
	if n := d.scheme(i); n > 0 && d.live(i, i+n) {
		d.replace(i, string(d.ch[i:i+n-1])+"[:]…")
		return d.rest(i + n)
	}
	return d.keep(i, i+1)
}

// www handles a host that renderers make a link of without a scheme.
func (d *defanger) www(i int) int {
	a := d.authority(i)
	if d.allowed(i, a) {
		return d.keep(i, a.end)
	}
	d.replace(i, broken(a.text)+"/…")
	return d.rest(a.end)
}

// live reports whether the scheme between i and j (after its colon) does
// something where it stands bare.
func (d *defanger) live(i, j int) bool {
	if d.has(j, "//") {
		return true
	}
	if j >= len(d.ch) || space(d.ch[j]) {
		return false
	}
	switch string(d.ch[i : j-1]) {
	case "javascript", "vbscript", "mailto", "file", "blob", "view-source":
		return true
	case "data":
		return d.dataURL(j)
	}
	return false
}

// dataURL tells data:text/html from prose.
func (d *defanger) dataURL(i int) bool {
	for n := 0; n < 64 && i < len(d.ch); n, i = n+1, i+1 {
		switch c := d.ch[i]; {
		case c == '/' || c == ',' || c == ';':
			return true
		case !letter(c) && !digit(c) && c != '-' && c != '.' && c != '+':
			return false
		}
	}
	return false
}

// rest returns where an address ends whose host ends at i: what is skipped is
// its path, query and fragment.
func (d *defanger) rest(i int) int {
	depth := 0
	for ; i < len(d.ch); i++ {
		d.looked++
		switch c := d.ch[i]; {
		case space(c) || strings.ContainsRune("<>\"`[]|", c):
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
