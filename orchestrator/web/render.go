package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed assets/htmx-2.0.11.min.js assets/pages.js assets/pages.css
var assetFiles embed.FS

// The files that pages load.
var assets = map[string]struct{ file, kind string }{
	"htmx":   {"htmx-2.0.11.min.js", "text/javascript; charset=utf-8"},
	"script": {"pages.js", "text/javascript; charset=utf-8"},
	"style":  {"pages.css", "text/css; charset=utf-8"},
}

// files are templates, and what pages load under a name with its hash.
type files struct {
	templates *template.Template
	static    map[string]static // by the name in the address
	names     map[string]string // the names in addresses
}

type static struct {
	data []byte
	kind string
}

// loadFiles reads what is embedded.
func loadFiles() (*files, error) {
	f := &files{static: map[string]static{}, names: map[string]string{}}
	for what, a := range assets {
		data, err := assetFiles.ReadFile("assets/" + a.file)
		if err != nil {
			return nil, err
		}
		base, end, _ := strings.Cut(a.file, ".js")
		if base == a.file {
			base, end, _ = strings.Cut(a.file, ".css")
			end = ".css" + end
		} else {
			end = ".js" + end
		}
		name := fmt.Sprintf("%s-%x%s", base, sha256.Sum256(data), end)
		f.static[name], f.names[what] = static{data, a.kind}, "/static/"+name
	}
	var err error
	f.templates, err = template.New("").Funcs(template.FuncMap{
		"marks": splitMarks, "name": markName, "asset": func(what string) string { return f.names[what] },
		"ago": shortenTime, "stamp": stampTime, "said": describeSaid, "class": classOf,
		"codeEdited": func() string { return approval.CodeEdited },
		"has":        func(p access.Principal, s string) bool { return p.May(access.Scope(s)) },
	}).ParseFS(pageFiles, "pages/*.html")
	return f, err
}

// onStatic answers with a file. Its name holds its hash, so a browser may keep it for ever.
func (f *files) onStatic(w http.ResponseWriter, r *http.Request) {
	one, ok := f.static[r.PathValue("name")]
	if !ok {
		http.Error(w, "There is nothing here.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", one.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(one.data) // a browser that left needs no answer
}

// view is what every page has.
type view struct {
	Title string
	// Visitor is nil on pages before the sign-in.
	Visitor *access.Principal
	CSRF    string
	// Area is the page's place in the navigation.
	Area string
	// Replays is set where there is a page of replay.
	Replays bool
	Path    string
	// Refresh is after how many seconds the page is loaded again where no script runs; zero is never.
	Refresh int
	Body    any
}

// viewFor is a view for a visitor.
func viewFor(v *visitor, area, title string, body any) view {
	return view{Title: title, Visitor: &v.principal, CSRF: v.sessionToken, Area: area, Replays: v.replays, Body: body}
}

// show writes a page, or a part of one. What fails on the way is a 500 and no half page.
func (p *Pages) show(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := p.files.templates.ExecuteTemplate(&b, name, data); err != nil {
		p.o.Log.Error("a page can't be written; please report it", "page", name, "error", err)
		http.Error(w, "The page broke. The server's log says more.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a browser that left needs no answer
}

// failure is a page that says what went wrong.
type failure struct {
	Status       int
	What, Remedy string
}

// showFailure shows what went wrong, to a visitor or, with nil, to others.
func (p *Pages) showFailure(w http.ResponseWriter, v *visitor, f failure) {
	if f.Status >= http.StatusInternalServerError {
		w.Header().Set("Retry-After", "5")
	}
	out := view{Title: f.What, Body: f}
	if v != nil {
		out = viewFor(v, "", f.What, f)
	}
	p.show(w, f.Status, "failure", out)
}

// showBroken shows that the database or another part is away, and logs why.
func (p *Pages) showBroken(w http.ResponseWriter, r *http.Request, v *visitor, err error) {
	p.o.Log.Error("a page can't read or write what it needs", "request_id", problem.RequestID(r.Context()), "error", err)
	p.showFailure(w, v, failure{http.StatusServiceUnavailable, "That can't be done at the moment",
		"Nothing that you sent was taken, as far as this page knows. Look again in a moment."})
}

// classForm is what the words are made of by which pages are coloured.
var classForm = regexp.MustCompile(`^[a-z_]{1,32}$`)

// classOf is a word of ours that may stand in a class; another text is none.
func classOf(word string) string {
	if classForm.MatchString(word) {
		return word
	}
	return "other"
}

// shortenTime says a duration in the two greatest units that it has.
func shortenTime(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}

// stampTime says a moment, the same for all readers.
func stampTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
