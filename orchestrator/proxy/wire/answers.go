package wire

import (
	"bytes"

	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// IsError reports whether a body is an error as providers write it.
func IsError(body []byte) bool { return span.IsObject(body) && len(span.Member(body, "error")) > 0 }

// IsObject reports whether a body is one plain JSON object.
func IsObject(body []byte) bool { return span.IsObject(body) }

// HoldsCall reports whether a client could find a call in an object.
func HoldsCall(body []byte) bool { return span.HoldsCall(body) }

// JoinModels makes one list of models of several.
func JoinModels(lists [][]byte) []byte {
	if len(lists) == 1 {
		return lists[0]
	}
	var models [][]byte
	for _, l := range lists {
		for el := span.Elements(span.Member(l, "data")); el.Next(); {
			models = append(models, el.Value)
		}
	}
	list := append(append([]byte{'['}, bytes.Join(models, []byte(","))...), ']')
	return span.Edit(nil, lists[0], func(key string, value []byte) []byte {
		switch key {
		case "data":
			return list
		case "has_more":
			return []byte("false")
		case "last_id", "first_id":
			return nil
		}
		return value
	})
}
