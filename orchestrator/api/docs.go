package api

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vedette-dev/vedette/orchestrator/problem"
)

const (
	specPath = "/openapi.json"
	docsPath = "/docs"
)

// isDocsPath reports whether a path is the description's or its page's.
func isDocsPath(path string) bool { return path == specPath || path == docsPath }

// newDocs makes the description and a page of it. The page has no script, and its style is in it.
func newDocs(doc *huma.OpenAPI) (http.Handler, error) {
	delete(doc.Components.Schemas.Map(), "ErrorModel") // huma's own, which no operation answers with
	spec, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("write the API's description: %w", err)
	}
	page, err := drawDocs(doc)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(docsStyle))
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			problem.Write(w, r, problem.New(problem.MethodNotAllowed, "the path takes GET"))
			return
		}
		h.Set("Cache-Control", "no-cache")
		if r.URL.Path == specPath {
			h.Set("Content-Type", "application/openapi+json")
			_, _ = w.Write(spec) // a caller that left needs no answer
			return
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		_, _ = w.Write(page)
	}), nil
}

// docsOperation is one operation as the page shows it.
type docsOperation struct {
	Method, Path, ID, Summary, Text string
	Params                          []docsParam
	Body                            string
	Answers                         []docsAnswer
	tag                             string
}

type docsParam struct{ Name, In, Text string }

type docsAnswer struct{ Status, Text, Type, Schema string }

// docsTag is the operations of one tag.
type docsTag struct {
	Name       string
	Operations []docsOperation
}

// drawDocs writes the page.
func drawDocs(doc *huma.OpenAPI) ([]byte, error) {
	byTag := map[string][]docsOperation{}
	for path, item := range doc.Paths {
		for method, op := range map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "DELETE": item.Delete} {
			if op == nil {
				continue
			}
			shown := newDocsOperation(doc, method, path, op)
			byTag[shown.tag] = append(byTag[shown.tag], shown)
		}
	}
	var tags []docsTag
	for name, list := range byTag {
		slices.SortFunc(list, func(a, b docsOperation) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
		})
		tags = append(tags, docsTag{name, list})
	}
	slices.SortFunc(tags, func(a, b docsTag) int { return cmp.Compare(a.Name, b.Name) })
	t, err := template.New("docs").Parse(docsPage)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Style": template.CSS(docsStyle), "Title": doc.Info.Title, "Text": doc.Info.Description, "Tags": tags, //nolint:gosec // it is ours
	})
	return b.Bytes(), err
}

// newDocsOperation takes from an operation what the page shows.
func newDocsOperation(doc *huma.OpenAPI, method, path string, op *huma.Operation) docsOperation {
	out := docsOperation{
		Method: method, Path: path, ID: op.OperationID, Summary: op.Summary, Text: op.Description, tag: strings.Join(op.Tags, ", "),
	}
	for _, p := range op.Parameters {
		out.Params = append(out.Params, docsParam{p.Name, p.In, p.Description})
	}
	if op.RequestBody != nil {
		for _, media := range op.RequestBody.Content {
			out.Body = showSchema(doc, media.Schema)
		}
	}
	for status, answer := range op.Responses {
		shown := docsAnswer{Status: status, Text: answer.Description}
		for kind, media := range answer.Content {
			if shown.Type = kind; kind != problem.ContentType {
				shown.Schema = showSchema(doc, media.Schema)
			}
		}
		out.Answers = append(out.Answers, shown)
	}
	slices.SortFunc(out.Answers, func(a, b docsAnswer) int { return cmp.Compare(a.Status, b.Status) })
	return out
}

// showSchema writes a schema as JSON. References are followed once: what they name has its place below components.
func showSchema(doc *huma.OpenAPI, s *huma.Schema) string {
	if s == nil {
		return ""
	}
	if s.Ref != "" {
		s = doc.Components.Schemas.SchemaFromRef(s.Ref)
	}
	var b bytes.Buffer
	raw, err := json.Marshal(s)
	if err = errors.Join(err, json.Indent(&b, raw, "", "  ")); err != nil {
		return ""
	}
	return b.String()
}

const docsStyle = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}` +
	`code,pre{font:14px/1.4 ui-monospace,monospace}pre{overflow:auto;padding:.5rem;border:1px solid #8886;border-radius:4px}` +
	`h3 code{font-size:1rem}summary{cursor:pointer}td,th{text-align:left;vertical-align:top;padding:.1rem 1rem .1rem 0}` +
	`section{border-top:1px solid #8886}.text{white-space:pre-line}`

const docsPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title><style>{{.Style}}</style></head><body>
<h1>{{.Title}}</h1><p>{{.Text}}</p>
<p>The description for programs is <a href="/openapi.json">openapi.json</a>.
Send <code>Authorization: Bearer TOKEN</code> with each request.</p>
<nav><ul>{{range .Tags}}<li><a href="#{{.Name}}">{{.Name}}</a>
<ul>{{range .Operations}}<li><a href="#{{.ID}}">{{.Summary}}</a></li>{{end}}</ul></li>{{end}}</ul></nav>
{{range .Tags}}<h2 id="{{.Name}}">{{.Name}}</h2>
{{range .Operations}}<section id="{{.ID}}"><h3><code>{{.Method}} {{.Path}}</code> {{.Summary}}</h3><p class="text">{{.Text}}</p>
{{if .Params}}<table><tr><th>parameter</th><th>in</th><th></th></tr>
{{range .Params}}<tr><td><code>{{.Name}}</code></td><td>{{.In}}</td><td>{{.Text}}</td></tr>{{end}}</table>{{end}}
{{if .Body}}<details><summary>body</summary><pre>{{.Body}}</pre></details>{{end}}
<details><summary>answers</summary>
<table>{{range .Answers}}<tr><td><code>{{.Status}}</code></td><td>{{.Text}}</td><td>{{.Type}}</td></tr>{{end}}</table>
{{range .Answers}}{{if .Schema}}<pre>{{.Schema}}</pre>{{end}}{{end}}</details></section>
{{end}}{{end}}</body></html>
`
