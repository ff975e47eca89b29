package email

import (
	"html"
	"strings"
)

// breaking are elements that start a new line.
var breaking = map[string]bool{
	"br": true, "p": true, "div": true, "tr": true, "li": true, "h1": true, "h2": true, "h3": true, "h4": true,
	"h5": true, "h6": true, "table": true, "ul": true, "ol": true, "blockquote": true, "hr": true, "pre": true,
	"section": true, "article": true,
}

// silent are elements whose content is no text.
var silent = map[string]bool{
	"script": true, "style": true, "head": true, "title": true,
	"template": true, "noscript": true, "svg": true, "object": true,
}

// extractHTMLText returns the text of an HTML page, in one pass over it. It is for
// reading alone: no browser would agree with it on malformed pages.
func extractHTMLText(s string) string {
	var out strings.Builder
	lower := lowerASCII(s)
	for i := 0; i < len(s); {
		open := strings.IndexByte(s[i:], '<')
		if open < 0 {
			out.WriteString(s[i:])
			break
		}
		out.WriteString(s[i : i+open])
		i += open
		if strings.HasPrefix(s[i:], "<!--") {
			i = indexAfter(s, i+4, "-->")
			continue
		}
		name := readTagName(lower[i+1:])
		if name == "" && !strings.HasPrefix(s[i:], "</") && !strings.HasPrefix(s[i:], "<!") && !strings.HasPrefix(s[i:], "<?") {
			out.WriteByte('<')
			i++
			continue
		}
		i = indexAfter(s, i, ">")
		switch {
		case silent[name]:
			i = indexAfter(lower, i, "</"+name)
			i = indexAfter(s, i, ">")
		case breaking[strings.TrimPrefix(name, "/")]:
			out.WriteByte('\n')
		}
	}
	return tidyBlankLines(html.UnescapeString(out.String()))
}

// indexAfter returns the index behind the next end at or after i, or the length.
func indexAfter(s string, i int, end string) int {
	n := strings.Index(s[i:], end)
	if n < 0 {
		return len(s)
	}
	return i + n + len(end)
}

// readTagName returns the name that starts s, with its slash for an end tag.
func readTagName(s string) string {
	n := 0
	for n < len(s) && (s[n] >= 'a' && s[n] <= 'z' || n > 0 && s[n] >= '0' && s[n] <= '9' || n == 0 && s[n] == '/') {
		n++
	}
	return s[:n]
}

// lowerASCII keeps every byte in its place, which strings.ToLower doesn't.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// tidyBlankLines joins blanks and leaves at most one empty line.
func tidyBlankLines(s string) string {
	var out strings.Builder
	empty := 0
	for line := range strings.Lines(s) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" {
			empty++
			continue
		}
		if out.Len() > 0 {
			out.WriteString(strings.Repeat("\n", min(empty, 1)+1))
		}
		out.WriteString(line)
		empty = 0
	}
	return out.String()
}
