package api

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/internal/plainjson"
)

// newConfig is how huma is set up: JSON alone, no pages of its own, no links to schemas.
func newConfig(version string, transform huma.Transformer) huma.Config {
	format := huma.Format{Marshal: writeJSON, Unmarshal: readJSON}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Vedette", Version: version,
				Description: "Supervised agents behind one checkpoint: conversations, decisions, approvals, and the ledger of what was decided.",
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", nameSchema),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer", Description: "A token of `vedette token create`, or one of the configured OIDC issuer."},
				},
			},
		},
		Formats:       map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat: "application/json", RejectUnknownQueryParameters: true,
		Transformers: []huma.Transformer{transform},
	}
}

// nameSchema names the schema of a type. Types of other packages have the package before their name.
func nameSchema(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	pkg := t.PkgPath()
	pkg = pkg[strings.LastIndexByte(pkg, '/')+1:]
	if pkg == "" || pkg == "api" || strings.HasPrefix(strings.ToLower(name), pkg) {
		return name
	}
	return strings.ToUpper(pkg[:1]) + pkg[1:] + name
}

// writeJSON writes an answer.
func writeJSON(w io.Writer, v any) error {
	var b []byte
	var err error
	if long, ok := v.(interface{ appendJSON() []byte }); ok {
		b = long.appendJSON()
	}
	if b == nil {
		b, err = plainjson.Marshal(v)
	}
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// errBody is told of a body that is not JSON, or not as the operation wants it. Its text holds
// nothing of the body.
var errBody = errors.New("the body is not one JSON object")

// readJSON reads a body as RFC 8259 and RFC 7493 have it: one value, no key twice, keys in the
// letters that the schema gives, UTF-8. encoding/json would keep the last of two keys, and take
// "Text" for "text".
func readJSON(data []byte, v any) error {
	err := json.Unmarshal(data, v, json.RejectUnknownMembers(true))
	var syntax *jsontext.SyntacticError
	var meaning *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("%w: it has a key twice", errBody)
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("%w: it has a key that isn't known, perhaps in other letters", errBody)
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: it is not valid JSON from byte %d on", errBody, syntax.ByteOffset)
	case errors.As(err, &meaning):
		return fmt.Errorf("%w: the value at byte %d has another type", errBody, meaning.ByteOffset)
	}
	return errBody
}
