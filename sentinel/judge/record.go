package judge

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Bounds of the records of a result.
const (
	maxRecordText = 256 << 10
	maxRecordDeep = 16
)

// field is a scalar of an object with its key. Items of a list have the list's key.
type field struct{ key, text string }

// object is an object of a JSON result with the scalars that are its own.
type object struct {
	fields []field
	// ofGuest: an object around it is marked as that of somebody from outside.
	ofGuest bool
}

// eachObject calls do for each object of a JSON result, those inside others first. A list
// that stands in no object is one without keys. Of a text that is no JSON there is none.
func eachObject(result string, do func(object)) {
	result = strings.TrimSpace(result)
	if len(result) > maxRecordText || result == "" || result[0] != '{' && result[0] != '[' {
		return
	}
	d := json.NewDecoder(strings.NewReader(result))
	d.UseNumber()
	var at any
	if d.Decode(&at) != nil || d.More() {
		return
	}
	var top object
	top.addFields("", at, 0, do)
	if len(top.fields) > 0 {
		do(top)
	}
}

func (o *object) addFields(key string, at any, deep int, do func(object)) {
	if deep > maxRecordDeep {
		return
	}
	switch at := at.(type) {
	case map[string]any:
		in := object{ofGuest: o.ofGuest || marksGuest(at)}
		for k, e := range at {
			in.addFields(k, e, deep+1, do)
		}
		do(in)
	case []any:
		for _, e := range at {
			o.addFields(key, e, deep+1, do)
		}
	case string:
		o.fields = append(o.fields, field{key, at})
	case bool:
		o.fields = append(o.fields, field{key, strconv.FormatBool(at)})
	case json.Number:
		o.fields = append(o.fields, field{key, at.String()})
	}
}
