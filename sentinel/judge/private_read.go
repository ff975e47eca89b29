package judge

import "strings"

// privateReads pairs words of a skill's name with words of a request. The first say
// that the skill reads private data; the second say that the user spoke of such
// data.
var privateReads = func() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, row := range []struct{ names, about string }{
		{"password passphrase credential secret", "password passphrase login log credential sign account access vault secret key"},
		{"payment card wallet", "pay payment card buy purchase order checkout method wallet bill billing " +
			"book subscribe refund money return exchange reservation cancel"},
		{"patient medical health prescription diagnosis",
			"patient doctor medical medicine health prescription diagnosis hospital appointment clinic symptom treatment"},
		{"location gps", "location where near nearby here close direction map route weather drive way local around"},
		{"history", "history access search browse visit log activity entry past previous recent last transaction order"},
		{"passport identity biometric fingerprint genetic", "passport identity id document travel visa genetic dna fingerprint"},
	} {
		about := stemSet(row.about)
		for w := range strings.FieldsSeq(row.names) {
			out[stemWord(w)] = about
		}
	}
	return out
}()

// findPrivateRead looks for a read of private data in a field that the request doesn't
// speak of.
func findPrivateRead(v *view) finding {
	r := v.askedIn()
	if r == nil || !r.known || v.own.delegates || v.p.changes || v.p.private == nil {
		return finding{}
	}
	for w := range v.p.private {
		if r.words[w] || v.mission != nil && v.mission.words[w] {
			return finding{}
		}
	}
	return finding{found: true}
}

// privateTopics returns the words by which a request asks for the private data that a skill
// reads, by the skill's name. It returns nil where the name says nothing of private data.
func privateTopics(name string) map[string]bool {
	var out map[string]bool
	for _, w := range splitName(name) {
		about := privateReads[stemWord(w)]
		if about == nil {
			continue
		}
		if out == nil {
			out = map[string]bool{}
		}
		for a := range about {
			out[a] = true
		}
	}
	return out
}
