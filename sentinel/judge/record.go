package judge

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
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

// entriesOf returns the objects of a step's result without what strangers write in them.
func entriesOf(s sentinel.Step) []object {
	var out []object
	eachObject(s.Result, func(o object) {
		o.fields = slices.DeleteFunc(o.fields, func(f field) bool { return slices.Contains(s.StrangerFields, f.key) })
		out = append(out, o)
	})
	return out
}

// entryNames are fields that hold what people call an entry.
var entryNames = wordSet(`name names display full first last title relation role nickname alias company organisation organization
	customer owner nombre nom vorname nachname imie nome relacion firma empresa`)

// lists reports whether one of an object's fields is the value and no more than that.
func (o object) lists(val value) bool {
	return !(val.kind == recipient && o.isGuest()) && slices.ContainsFunc(o.fields, func(f field) bool { return f.isJust(val) })
}

// proseKeys are fields in which others write what they like, a payer's reference among them.
var proseKeys = wordSet(`title subject note notes comment comments description text body message summary reference ref memo location
	snippet preview content betreff oggetto asunto objet onderwerp tytul tytuł verwendungszweck causale concepto titel notiz`)

// vouchesFor reports whether a field may say of a value whose it is: no field in which others write what they like, and of an
// address no name, which people choose.
func (f field) vouchesFor(val value) bool {
	tail := lastWord(splitName(f.key))
	isChosen := isAny(tail, entryNames) && val.kind >= account && (strings.Contains(val.fold, "@") || hasDigit(val.fold))
	return !isChosen && !isAny(tail, proseKeys)
}

func (f field) isJust(val value) bool {
	if !f.vouchesFor(val) {
		return false
	}
	text := foldText(strings.TrimSpace(f.text))
	if text == val.fold {
		return true
	}
	c := dropGrouping(val.fold)
	return val.kind >= account && len(c) >= minAccount && hasDigit(c) && dropGrouping(text) == c
}
