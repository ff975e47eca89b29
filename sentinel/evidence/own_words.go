package evidence

import "strings"

// Bounds of what counts as typed by a user, in bytes.
const (
	maxTyped  = 1500 // of a request; what is beyond was pasted
	maxQuoted = 120  // between quotation marks
)

// SplitOwnWords parts a request into what the user says and what the user pasted: fenced and
// quoted lines, the text behind the head of a mail, long quotations, and what is beyond 1,500
// bytes. Pasted text grounds nothing: its author may be a stranger.
func SplitOwnWords(request string) (own, pasted string) {
	var o, p strings.Builder
	fenced, mail, long := false, false, false
	for line := range strings.SplitAfterSeq(request, "\n") {
		bare := strings.TrimSpace(line)
		fence := strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~")
		mail = mail || isMailHead(bare)
		long = long || o.Len()+len(line) > maxTyped
		if fenced || fence || mail || long || strings.HasPrefix(bare, ">") {
			p.WriteString(line)
		} else {
			o.WriteString(line)
		}
		if fence {
			fenced = !fenced
		}
	}
	return takeQuotations(o.String(), &p), p.String()
}

var mailHeads = []string{"from: ", "von: ", "de: ", "da: ", "subject: ", "betreff: ", "asunto: ", "objet: ", "sent: ", "gesendet: ",
	"-----original message", "-----ursprungliche nachricht", "begin forwarded message", "---------- forwarded message"}

// isMailHead reports whether a line begins a mail that is pasted.
func isMailHead(line string) bool {
	if len(line) > 300 {
		return false
	}
	f := foldText(line)
	for _, h := range mailHeads {
		if strings.HasPrefix(f, h) {
			return true
		}
	}
	return false
}

// takeQuotations moves long quotations to what was pasted.
func takeQuotations(s string, pasted *strings.Builder) string {
	for _, pair := range [...][2]string{{"“", "”"}, {"„", "“"}, {"«", "»"}, {`"`, `"`}} {
		var keep strings.Builder
		for {
			head, rest, open := strings.Cut(s, pair[0])
			inner, tail, closed := strings.Cut(rest, pair[1])
			if !open || !closed {
				break
			}
			keep.WriteString(head)
			if len(inner) > maxQuoted {
				pasted.WriteString("\n" + inner + "\n")
				keep.WriteByte(' ')
			} else {
				keep.WriteString(pair[0] + inner + pair[1])
			}
			s = tail
		}
		s = keep.String() + s
	}
	return s
}
