package bash

// stream is what a command reads or writes: its text where that is known, and
// the folders whose every entry it names (find, ls), or some entries of which.
type stream struct {
	open, known bool
	endless     bool
	source      streamSource
	text        string
	others      []string // what is printed where other words stand in place of unsure ones
	whole       bool     // others are all that may be printed
	trees       []string
	some        []string // "build/*.o", or "build/$entry" where nothing is known
	taint
}

// streamSource says where a stream comes from, as far as that matters.
type streamSource uint8

const (
	fromElsewhere streamSource = iota
	fromFile                   // that the line names
	fromDecoder                // it was decoded, and is known
	fromSocket                 // a connection to another machine
)

func knownStream(text string) stream { return stream{open: true, known: true, text: text} }

// addNames adds what another stream says of the names in it.
func (in *stream) addNames(o stream) {
	in.trees = append(in.trees, o.trees...)
	in.some = append(in.some, o.some...)
	in.endless = in.endless || o.endless
	in.mix(o.taint)
}

// listEntries are the items of a stream whose text is not known, one at least.
func (in stream) listEntries() []field {
	var out []field
	for _, t := range in.trees {
		out = append(out, field{text: t, bare: t, provenance: provenance{tree: true, fed: true}})
	}
	for _, t := range in.some {
		out = append(out, field{text: t, bare: t, unknown: true, provenance: provenance{fed: true}})
	}
	if len(out) == 0 {
		out = append(out, field{text: "$read", unknown: true, blank: true, provenance: provenance{fed: true}, taint: in.taint})
	}
	return out
}
