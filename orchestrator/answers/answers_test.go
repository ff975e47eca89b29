package answers

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

var options = Options{Allow: []string{"example.com", "*.Example.org"},
	Request: "Read https://asked.test:8443/x?u=no.test and plain.test, notes.md, bob@mail.test"}

const evil = "hxxps://evil[.]test/…"

// Links and images lose their target, words stay.
func TestBroken(t *testing.T) {
	for name, row := range map[string]struct {
		in, out string
		n       int
	}{
		"link":                  {"[a](https://evil.test/x?q=1#f).", "[a] (" + evil + ").", 1},
		"image with title":      {`![a](https://evil.test/x "t")`, `![a] (` + evil + ` "t")`, 1},
		"image in a link":       {"[![a](https://evil.test/i)](https://evil.test)", "[![a] (" + evil + ")] (" + evil + ")", 2},
		"angle target":          {"[a](<https://evil.test/a b>)", "[a] (<" + " " + evil + " b>)", 1},
		"target on a new line":  {"[a](\n https://evil.test)", "[a] (\n " + evil + ")", 1},
		"protocol-relative":     {"![a](//evil.test/x)", "![a] (" + evil + ")", 1},
		"script":                {"[a](JavaScript:alert(1))", "[a] (javascript[:]…)", 1},
		"data":                  {"![a](data:image/svg+xml;base64,AAAA)", "![a] (data[:]…)", 1},
		"path of the page":      {"![a](/logout)", "![a] (/logout)", 1},
		"entity in the scheme":  {"[a](&#104;ttps&colon;//evil.test)", "[a] (" + evil + ")", 1},
		"escape in the scheme":  {`[a](https\://evil.test)`, "[a] (" + evil + ")", 1},
		"invisible in scheme":   {"[a](ht\u200btps://evil.test)", "[a] (" + evil + ")", 1},
		"invisible in brackets": {"[a]\u200b(https://evil.test)", "[a]\u200b (" + evil + ")", 1},
		"full width":            {"[a](ｈttps://evil.test)", "[a] (" + evil + ")", 1},
		"definition":            {"![a][1]\n\n[1]: https://evil.test/x", "![a][1]\n\n[1] : " + evil, 1},
		"definition, new line":  {"[1]:\n  //evil.test", "[1] :\n  " + evil, 1},
		"autolink":              {"<https://evil.test/?q>", "< " + evil + ">", 1},
		"mail with a body":      {"<mailto:a@evil.test?body=x>", "< mailto[:]…>", 1},
		"bare":                  {"see HTTPS://Evil.Test/a?b, ok", "see " + evil + " ok", 1},
		"bare ftp":              {"ftp://evil.test", "fxp://evil[.]test/…", 1},
		"bare www":              {"www.evil.test/x", "www[.]evil[.]test/…", 1},
		"bare in a word":        {"xhttps://evil.test 1http://evil.test", "xhttps[:]… 1 hxxp://evil[.]test/…", 2},
		"one slash":             {"https:/evil.test https:\\\\evil.test", evil + " " + evil, 2},
		"user name":             {"https://example.com@evil.test/", evil, 1},
		"user name and port":    {"https://example.com:443@evil.test:8/", evil, 1},
		"backslash":             {`https://evil.test\@example.com`, "hxxps://example[.]com/…", 1},
		"host as a beginning":   {"https://example.com.evil.test", "hxxps://example[.]com[.]evil[.]test/…", 1},
		"host as an end":        {"https://notexample.com", "hxxps://notexample[.]com/…", 1},
		"punctuation in host":   {"https://example.com).evil.test/", "hxxps://example[.]com_[.]evil[.]test/…", 1},
		"entity after host":     {"https://example.com&nbsp;.evil.test", "hxxps://example[.]com/…&nbsp;.evil.test", 1},
		"wildcard, host itself": {"https://example.org", "hxxps://example[.]org/…", 1},
		"not asked for": {"https://mail.test https://notes.md https://no.test",
			"hxxps://mail[.]test/… hxxps://notes[.]md/… hxxps://no[.]test/…", 3},
		"look-alike":           {"https://exаmple.com", "hxxps://exаmple[.]com/…", 1},
		"punycode":             {"https://xn--exmple-4nf.com", "hxxps://xn--exmple-4nf[.]com/…", 1},
		"redirect by allowed":  {"https://example.com/?u=https://evil.test", "https://example.com/?u=" + evil, 1},
		"html link":            {`<a href="https://evil.test/x">w</a>`, `< a href="` + evil + `">w</a>`, 1},
		"html image":           {"<IMG\nsrc=//evil.test/x>", "< IMG\nsrc=" + evil + ">", 1},
		"html without a space": {"<img/src='/x'>", "< img/src='/x'>", 1},
		"style":                {"<style>a{background:url(//evil.test/x)}</style>", "< style>a{background:url(" + evil + ")}< /style>", 3},
		"style attribute":      {`<b style="background:url(https://evil.test)">`, `< b style="background:url(` + evil + `)">`, 1},
		"allowed tag, handler": {`<img src="https://example.com/a" onload="x">`, `< img src="https://example.com/a" onload="x">`, 1},
		"tag with an entity":   {"<b&#62; onclick=x>", "< b&#62; onclick=x>", 1},
		"other scheme":         {"slack://evil.test/x", "slack[:]…", 1},
		"definition, own host": {"[1]: ?d=1", "[1] : ?d=1", 1},
		"definition, a file":   {"[1]: x.php?d=1", "[1] : x.php?d=1", 1},
		"entity, no semicolon": {"https&#58//evil.test https&#x3a//evil.test", evil + " " + evil, 2},
		"folder elsewhere":     {`see \\evil.test\x and \\evil.test@SSL\x`, "see " + evil + " and " + evil, 2},
		"allowed, ends early":  {`[a](https://example.com/" onload="x)`, `[a] (https://example.com/" onload="x)`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			out, n := Defang(row.in, options)
			require.Equal(t, row.out, out)
			require.Equal(t, row.n, n)
			again, n := Defang(out, options)
			require.Equal(t, out, again)
			require.Zero(t, n)
		})
	}
}

// What leads to an allowed host, and what leads nowhere, stays byte for byte.
func TestStays(t *testing.T) {
	for _, text := range []string{
		"", "plain text", "a < b and c > d; x[i]: int, [note]: see below", "List<String> and <b>bold</b><br/>",
		"JavaScript: The Good Parts; data: the rest; metadata:a/b",
		"[a](https://example.com/x?a=1&b=2#f \"t\")", "![a](<https://a.b.example.org>)", "HTTPS://EXAMPLE.com:8443/, (http://example.com).",
		"[1]: https://example.com/x", "<https://example.com/>", `<a href="https://example.com/x" title="t">w</a>`,
		"www.sub.example.org //example.com/x",
		"https://asked.test/other http://plain.test", "[top](#top) []()", "<bob@evil.test>", "// a comment\n//nolint", "hxxps://evil[.]test/…",
		"\xff\xfe]",
		"evil.test/x is a bare name", `\[a\] [b]`, `a \\ b \\alpha C:\\x.y\\z`, "[note]: see", "AT&#T &#x", "[a](https://example.com/it's \"t\")",
	} {
		out, n := Defang(text, options)
		require.Equal(t, text, out)
		require.Zero(t, n, text)
	}
}

// With nothing allowed nothing stays; a star alone allows nothing, and an
// international name stays where the user wrote the same bytes.
func TestOptions(t *testing.T) {
	out, _ := Defang("https://example.com", Options{})
	require.Equal(t, "hxxps://example[.]com/…", out)
	out, _ = Defang("https://example.com", Options{Allow: []string{"*", "*.", ""}})
	require.Equal(t, "hxxps://example[.]com/…", out)
	out, n := Defang("https://bücher.test/x", Options{Request: "what does http://bücher.test say?"})
	require.Equal(t, "https://bücher.test/x", out)
	require.Zero(t, n)
	_, n = Defang("https://bu\u0308cher.test/x", Options{Request: "what does http://bücher.test say?"})
	require.Equal(t, 1, n)
}

// Ten times the text is ten times the work, whatever it repeats: characters that
// were looked at, and bytes that were allocated.
func TestLinear(t *testing.T) {
	for _, unit := range []string{"](", "]:", "<a", "<a href=\"", "//", "//a", "&#", "http:", "https://a@", "www.a", "(", "a.", "&&&&", "](  ",
		"a@", "x+", "data:"} {
		work := func(n int) (looked, allocated int) {
			text := strings.Repeat(unit, n/len(unit))
			d := &defanger{shadow: newShadow(text), hosts: newHosts(options), target: -1}
			d.defangText(text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			Defang(text, options)
			runtime.ReadMemStats(&after)
			return d.looked, int(after.TotalAlloc - before.TotalAlloc)
		}
		small, bytes := work(10_000)
		large, many := work(100_000)
		require.Positive(t, small, unit)
		require.Less(t, large, 15*small, unit)
		require.Less(t, many, 20*bytes+1<<20, unit)
	}
}

var (
	webRE    = regexp.MustCompile(`(?i)https?:[/\\]+([^\s/?#\\<>\[\]^|]*)`)
	targetRE = regexp.MustCompile(`(?i)\]\(\s*<?([a-z][a-z0-9+.-]*:[^\s)>]*)`)
	tagRE    = regexp.MustCompile(`(?i)<(?:img|a)[\s/]+[^>]*`)
	srcRE    = regexp.MustCompile(`(?i)(?:src|href)\s*=`)
)

// check is told apart from the code it checks: patterns over the raw output.
func check(t *testing.T, out string) {
	ours := func(url string) bool {
		m := webRE.FindStringSubmatch(url)
		if m == nil {
			return false
		}
		host := strings.TrimRightFunc(m[1], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		host, _, _ = strings.Cut(host, ":")
		return strings.EqualFold(host, "example.com")
	}
	for _, u := range webRE.FindAllString(out, -1) {
		if !ours(u) {
			t.Errorf("%q has the address %q", out, u)
		}
	}
	for _, m := range targetRE.FindAllStringSubmatch(out, -1) {
		if !ours(m[1]) {
			t.Errorf("%q has the target %q", out, m[1])
		}
	}
	for _, tag := range tagRE.FindAllString(out, -1) {
		if srcRE.MatchString(tag) && !ours(tag) {
			t.Errorf("%q has the tag %q", out, tag)
		}
	}
}

// Whatever a tainted answer is: nothing in it leads elsewhere, and a second
// time changes nothing.
func FuzzDefang(f *testing.F) {
	for _, s := range []string{
		"[a](https://evil.test/x?q=1)", "![a](<ht\ttps://evil.test>)", "[1]: //evil.test", "<img src=x>", "<https://example.com@evil.test>",
		"&#104;ttps://a", `https\://x`,
		"[a](https://example.com/)", "<<https://e.t>", "<a href=\"https://example.com/\">x</a>", "ｈttps://e", "]\u200b(data:,x)",
		"www.a.b](javascript:x)", "hxxps://http://a", "]:]:](](//a.b",
	} {
		f.Add(s)
	}
	o := Options{Allow: []string{"example.com"}}
	f.Fuzz(func(t *testing.T, text string) {
		out, n := Defang(text, o)
		check(t, out)
		if n == 0 && out != text {
			t.Errorf("%q was changed and nothing counted", text)
		}
		if again, _ := Defang(out, o); again != out {
			t.Errorf("%q became %q, and that %q", text, out, again)
		}
	})
}
