// Package plainjson writes JSON for programs and people, and not for HTML pages.
//
// encoding/json writes <, > and & as escapes of six characters. In records, prompts and
// terminals these make a text longer and harder to read, and protect no reader.
package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal without the escapes for HTML. Its errors are json's.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
