package terminal

import (
	"bytes"
	"encoding/json"
	"io"
)

// WriteLine writes one line of JSON, made safe to show.
func WriteLine(w io.Writer, b []byte) error {
	_, err := w.Write(append(CleanJSON(b), '\n'))
	return err
}

// WriteJSON writes v as JSON that is safe to show: on one line where oneLine is set,
// indented otherwise.
func WriteJSON(w io.Writer, v any, oneLine bool) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if !oneLine {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return err
	}
	return WriteLine(w, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
