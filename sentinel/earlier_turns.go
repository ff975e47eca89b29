package sentinel

import (
	"slices"
	"strings"
	"unicode"
)

// EarlierTurn is what a user said in a turn of the conversation that is over. Only words
// that an authenticated person sent belong here: no imported message, and nothing that a
// model wrote.
type EarlierTurn struct {
	// Words are the request of that turn, as it was sent.
	Words string
	// Tainted is set where that turn read text that others could have written.
	Tainted bool
}

// Bounds of what a grant holds of earlier turns: the newest.
const (
	MaxEarlierTurns = 12
	// MaxEarlierWords is in bytes, of the words of all of them.
	MaxEarlierWords = 8 << 10
)

// KeepNewestTurns returns the newest turns within the bounds, oldest first. Of a turn
// whose words don't fit, and of those before it, the words are left out.
func KeepNewestTurns(turns []EarlierTurn) []EarlierTurn {
	if len(turns) == 0 {
		return nil
	}
	out := slices.Clone(turns[max(0, len(turns)-MaxEarlierTurns):])
	left := MaxEarlierWords
	for i := len(out) - 1; i >= 0; i-- {
		if left -= len(out[i].Words); left < 0 {
			out[i].Words, left = "", 0
		}
	}
	return out
}

// LastRequest is what a turn that only assents goes on with.
type LastRequest struct {
	// Words are the request's own.
	Words string
	// Tainted is set where that turn, or one since, read what others could have written.
	Tainted bool
}

// userWords is what a grant's request and earlier turns come to, worked out once.
type userWords struct {
	own     string   // of the request
	earlier []string // newest first
	last    *LastRequest
}

// readUserWords reads what a user said.
func readUserWords(request *string, turns []EarlierTurn) *userWords {
	if request == nil && len(turns) == 0 {
		return nil
	}
	w := &userWords{}
	if request != nil {
		w.own = OwnWords(*request)
	}
	w.readEarlier(turns)
	return w
}

// readEarlier reads earlier turns, the newest first, from the request on. A withdrawal
// takes back the request before it, with every assent to that.
func (w *userWords) readEarlier(turns []EarlierTurn) {
	withdrawn, tainted := IsWithdrawal(w.own), false
	open := !withdrawn
	for _, t := range slices.Backward(turns) {
		own := OwnWords(t.Words)
		tainted = tainted || t.Tainted
		assent := IsAssent(own)
		if open && !assent {
			if open = false; !withdrawn && !IsWithdrawal(own) && strings.TrimSpace(own) != "" {
				w.last = &LastRequest{own, tainted}
			}
		}
		kept := ""
		switch {
		case withdrawn:
			withdrawn = assent || IsWithdrawal(own)
		case IsWithdrawal(own):
			withdrawn, kept = true, dropWithdrawals(own)
		default:
			kept = own
		}
		if !assent && strings.TrimSpace(kept) != "" {
			w.earlier = append(w.earlier, kept)
		}
	}
}

// EarlierTurns returns the turns before this one, oldest first.
func (g Grant) EarlierTurns() []EarlierTurn { return slices.Clone(g.o.Earlier) }

// EarlierWords returns the user's own words of earlier turns, newest first. What was
// quoted, pasted or withdrawn is left out, and so is plain assent.
func (g Grant) EarlierWords() []string {
	if g.words == nil {
		return nil
	}
	return slices.Clone(g.words.earlier)
}

// LastRequest returns the newest request before this turn's that was no plain assent; ok is
// false where there is none, or where it was withdrawn.
func (g Grant) LastRequest() (r LastRequest, ok bool) {
	if g.words == nil || g.words.last == nil {
		return LastRequest{}, false
	}
	return *g.words.last, true
}

// splitPlainWords splits a text into folded words.
func splitPlainWords(text string) []string {
	return strings.FieldsFunc(FoldText(text), func(r rune) bool { return !isWordRune(r) && r != '\'' && r != '’' })
}

// maxAssent is how many words an assent may have.
const maxAssent = 12

// IsAssent reports whether a text only agrees, thanks or says to go on. It names nothing
// that could be done, so it asks for nothing that was not asked for before.
func IsAssent(text string) bool {
	words := splitPlainWords(text)
	if len(words) == 0 || len(words) > maxAssent {
		return false
	}
	agrees := false
	for _, w := range words {
		w = strings.ReplaceAll(w, "’", "'")
		switch {
		case assentWords[w]:
			agrees = true
		case strings.ContainsFunc(w, unicode.IsDigit), !assentFillers[w]:
			return false
		}
	}
	return agrees
}

// assentWords agree by themselves. assentFillers may stand beside them.
var (
	assentWords = foldedWords(`yes yep yeah yup ok okay sure right fine great perfect exactly correct agreed thanks thank thx cheers continue
		proceed go carry good nice cool alright approved confirmed lovely
		oui ouais accord d'accord parfait merci continue continuez vas-y allez exact bien entendu
		ja jawohl genau danke dankeschon weiter klar gut passt einverstanden perfekt gerne stimmt
		si claro vale perfecto gracias adelante sigue continua correcto bueno hazlo
		sim certo obrigado obrigada continue prossiga perfeito beleza faca
		va bene perfetto grazie procedi continua esatto certo fallo
		prima bedankt dank doorgaan akkoord klopt goed
		да ладно хорошо спасибо давай
		tak dobrze dziekuje jasne evet tamam はい 好 好的 是 是的 谢谢 네 نعم شكرا כן תודה`)
	assentFillers = foldedWords(`do it that this so please on ahead then now very much you a lot for the with me by all means and i think
		is that's it's just as we agreed the way said like well go one lovely let's let
		le la les ca c'est fais fait faites beaucoup bon tres s'il te vous plait et je suis
		das so es ist bitte mach machen ja mal du kannst in ordnung vielen dank und
		lo eso asi por favor muchas muy bien esta de acuerdo y hazlo haz que
		isso assim por favor muito esta bem e pode
		cosi per favore molto e tutto
		dat is het doe maar graag en zo`)
)

// IsWithdrawal reports whether a text takes back what was said before it.
func IsWithdrawal(text string) bool {
	words := splitPlainWords(text)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "’", "'")
	}
	if len(words) == 0 {
		return false
	}
	line := " " + strings.Join(words, " ") + " "
	for _, p := range withdrawalPhrases {
		if strings.Contains(line, p) {
			return true
		}
	}
	for _, p := range withdrawalStarts {
		if strings.HasPrefix(line, p) && !startsWithAny(line, harmlessStarts) {
			return true
		}
	}
	return false
}

func startsWithAny(line string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.HasPrefix(line, p) })
}

// dropWithdrawals leaves out the sentences of a text that take something back.
func dropWithdrawals(text string) string {
	var kept []string
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".!?;\n", r) }) {
		if !IsWithdrawal(s) {
			kept = append(kept, strings.TrimSpace(s))
		}
	}
	return strings.Join(kept, ". ")
}

// Phrases that take back what was said, in the languages that the judge reads. The first
// list counts anywhere, the second where a text begins, unless the third begins it.
var (
	withdrawalPhrases = paddedPhrases(`forget that|forget it|forget about|never mind|nevermind|scrap that|cancel that|ignore that|leave it be|
		don't do it|do not do it|don't do that|i changed my mind|i take that back|call it off|hold off|
		disregard it|disregard that|undo that|ne paie pas|ne paye pas|
		laisse tomber|laissez tomber|oublie ca|oubliez ca|oublie-le|annule ca|ne fais pas ca|ne le fais pas|j'ai change d'avis|
		vergiss es|vergiss das|vergessen sie das|lass es|lass das|lassen sie das|doch nicht|mach das nicht|lieber nicht|
		olvidalo|olvida eso|olvidate|dejalo|cancela eso|mejor no|no lo hagas|he cambiado de idea|
		esquece isso|esqueca|deixa para la|deixa isso|cancela isso|melhor nao|nao facas|nao faca isso|mudei de ideia|
		lascia perdere|lascia stare|dimentica|annulla tutto|non farlo|meglio di no|ho cambiato idea|
		laat maar|vergeet het|vergeet dat|toch niet|doe maar niet|doe het niet|liever niet`)
	withdrawalStarts = paddedPhrases(`no|hmm no|never|nope|abort|don't|do not|actually don't|actually do not|actually no|
		please do not|wait don't|stop|
		wait no|cancel|not that|please don't|
		non|arrete|arretez|stoppe|nein|stopp|halt|nicht|nao|pare|nee|niet`)
	harmlessStarts = paddedPhrases(`no problem|no worries|no need to ask|no more than|no later than|no one|no hurry|no rush|don't forget|
		do not forget|never forget|please don't forget|
		please do not forget|actually don't forget|don't hesitate|cancel my|cancel the|cancel our|cancel all|cancel both|stop the|stop my`)
)

// foldedWords is a set of folded words.
func foldedWords(row string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(FoldText(row)) {
		for _, part := range splitPlainWords(w) {
			out[part] = true
		}
	}
	return out
}

// paddedPhrases is a list of folded phrases, each between blanks.
func paddedPhrases(rows string) []string {
	var out []string
	for p := range strings.SplitSeq(rows, "|") {
		out = append(out, " "+strings.Join(splitPlainWords(p), " ")+" ")
	}
	return out
}
