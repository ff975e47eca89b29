package config

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// decodeJSON turns a value into JSON. Numbers keep every digit that was written;
// ok is false after a mistake was reported.
func (d *decoder) decodeJSON(p place) (raw json.RawMessage, ok bool) {
	w := jsonWriter{d: d, ok: true}
	w.writeValue(p)
	return w.buf, w.ok
}

// jsonWriter writes a value as JSON.
type jsonWriter struct {
	d   *decoder
	buf []byte
	ok  bool
}

// writeValue writes a value with all that is in it.
func (w *jsonWriter) writeValue(p place) {
	switch p.n.kind {
	case mappingNode:
		w.buf = append(w.buf, '{')
		for i := range p.n.entries {
			if i > 0 {
				w.buf = append(w.buf, ',')
			}
			e := &p.n.entries[i]
			w.writeText(e.key)
			w.buf = append(w.buf, ':')
			w.writeValue(p.placeOfEntry(e))
		}
		w.buf = append(w.buf, '}')
	case listNode:
		w.buf = append(w.buf, '[')
		for i := range p.n.items {
			if i > 0 {
				w.buf = append(w.buf, ',')
			}
			w.writeValue(p.placeOfItem(i))
		}
		w.buf = append(w.buf, ']')
	default:
		w.writeScalar(p)
	}
}

func (w *jsonWriter) writeText(s string) {
	b, err := json.Marshal(s)
	if err != nil { // no text fails
		b = []byte(`""`)
	}
	w.buf = append(w.buf, b...)
}

// writeScalar writes a scalar, and reports a number that JSON doesn't have.
func (w *jsonWriter) writeScalar(p place) {
	if p.n.bad {
		w.ok = false
	}
	switch p.n.scalarKind() {
	case nullScalar:
		w.buf = append(w.buf, "null"...)
	case boolScalar:
		w.buf = append(w.buf, strings.ToLower(p.n.text)...)
	case intScalar, floatScalar:
		if s, fits := jsonNumber(p.n.text); fits {
			w.buf = append(w.buf, s...)
			return
		}
		fallthrough
	case oddScalar:
		w.ok = false
		w.d.reportMistake(p, p.n.pos, "holds %s, which is no JSON number; quote it or write it plainly", quoteWord(p.n.text))
		w.buf = append(w.buf, "null"...)
	default:
		w.writeText(p.n.text)
	}
}

// jsonNumber writes a YAML number as JSON with the same value and precision. 0x1F
// becomes 31, .5 becomes 0.5, 1.10 stays.
func jsonNumber(s string) (string, bool) {
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0o") {
		i, ok := new(big.Int).SetString(s, 0)
		if !ok {
			return "", false
		}
		return i.String(), true
	}
	sign := ""
	if s[0] == '+' || s[0] == '-' {
		if s[0] == '-' {
			sign = "-"
		}
		s = s[1:]
	}
	mantissa, exp := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exp = s[:i], s[i:]
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	if whole == "" {
		whole = "0"
	}
	if len(whole) > 1 && whole[0] == '0' {
		return "", false // 00.5
	}
	out := sign + whole
	if frac != "" {
		out += "." + frac
	}
	out += exp
	if _, err := strconv.ParseFloat(out, 64); err != nil {
		return "", false // 1e999: nothing that reads JSON can hold it
	}
	return out, true
}
