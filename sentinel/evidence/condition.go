package evidence

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Condition is a clause of the user's words that the call may depend on, and which results of this
// turn speak of it. It says nothing of whether the clause holds.
type Condition struct {
	// Clause is the clause, folded.
	Clause Quote
	// Told are the results that share a word with it, those first that may be believed most. Of
	// trusted ones the record is quoted.
	Told []Place
}

// Bounds of a condition.
const (
	maxClause      = 120 // bytes that are shown
	maxTold        = 4
	maxClauseWords = 12
	minClauseWord  = 2
	maxIdle        = 3 // words behind the mark of a clause that binds nothing
	maxReport      = 4 // words between "tell" and "if" that make the clause part of a message
)

// conditionWords begin a clause that the rest of a request depends on, in the languages that the
// judge reads. They stand folded.
var conditionWords = phraseList(`unless; if; once; as soon as; as long as; so long as; provided; providing; assuming; in case;
	wenn; falls; sofern; sobald; vorausgesetzt; es sei denn; ausser wenn; erst wenn;
	sauf si; a moins que; a moins qu; des que; des qu; a condition; pourvu que; une fois que;
	si no; a menos que; a no ser que; salvo que; siempre que; en cuanto; con tal de que; solo si;
	a nao ser que; so se; caso; assim que; logo que; contanto que; a meno che; purche; non appena; sempre che; a patto
	che; solo se;
	tenzij; mits; zodra; indien; chyba ze; jesli; jezeli; o ile; jak tylko; pokud; jestlize; jakmile; ledaze;
	savida; forutsatt; forudsat; hvis; medmindre; med mindre; sa snart; dersom; ellei; kunhan; eger; daca; imediat ce;
	cu conditia;
	hacsak; amint; amennyiben; если; как только; при условии; якщо; щойно; хіба що; εαν; μολις; εκτος αν;
	اذا; إذا; لو; אם; אלא אם; अगर; यदि; jika; kalau; apabila; kecuali; neu; tru khi; kapag; maliban kung`)

// whenWords are times as well, so they count where somebody says or does something in their clause.
var whenWords = phraseList(`when; whenever; lorsque; quand; cuando; quando; wanneer; gdy; kdyz; когда; коли; عندما; כאשר; जब;
	οταν; nar; kun;
	cand; khi; bila`)

// happenings are beginnings of what others say and do.
var happenings = [...]string{"writ", "say", "said", "confirm", "agree", "approv", "arriv",
	"pai", "pay", "sign", "accept", "repl", "answer",
	"schreib", "sagt", "bestatig", "zustimm", "ankomm", "bezahl", "zahlt", "ecri", "dit", "accord", "pague", "llegue",
	"llega", "diga", "escrib", "acept",
	"chegu", "chega", "escrev", "aceit", "pagar", "scriv", "arriva", "dice", "schrijf", "aankom", "betaal", "napis", "potwierdz",
	"напиш", "подтверд"}

// looseConditions are other words too, so they count where they begin a clause.
var looseConditions = phraseList("si; s'il; s'ils; se; als; om; ha; jos; αν")

// proofWords ask that something be made sure before the rest. What they speak of may stand before
// them as well as behind.
var proofWords = phraseList(`make sure; be sure; making sure; ensure; stell sicher; stelle sicher; vergewissere; uberzeug; uberzeuge;
	assure-toi; assurez-vous; asegurate; cerciorate; certifica-te; certifique-se; assicurati; accertati; upewnij sie;
	varmista; emin ol; убедись`)

// checkWords do so where they are followed by what is to be so; else they ask for a look.
var (
	checkWords = phraseList(`check; double-check; verify; confirm; pruf; prufe; uberpruf; uberprufe; schau nach; kontrollier; sieh nach;
		verifie; verifiez; controle; comprueba; verifica; confirme; verifique; controlla; controleer; sprawdz;
		zkontroluj; kontrollera; tarkista; kontrol et; проверь; перевір`)
	thatWords = wordSet("that if whether dass ob que si se che dat of ze czy jestli att om ett ettei что ли чи")
)

// maxLook is how many words stand between a check and what is to be so.
const maxLook = 5

// unspacedConditions are in scripts without blanks between words.
var unspacedConditions = [...]string{"なければ", "れば", "なら", "たら", "限り", "場合", "次第", "確認", "如果", "除非", "只要", "一旦", "要是", "的话", "的話",
	"确认", "確認", "만약", "다면", "으면", "않으면", "경우", "확인"}

// reportWords give what follows to somebody else: "ask him if he comes".
var reportWords = wordSet(`ask asks tell say says reply write message inform know wonder frag frage sag sage schreib schreibe
	antworte demande
	dis
	ecris reponds pregunta dile di escribe responde pergunta diz escreve chiedi di scrivi vraag zeg schrijf`)

// idleConditions make a clause that binds nothing.
//
//nolint:misspell // one word is Italian
var idleConditions = wordSet(`possible possibly needed necessary like want wish moglich notig willst magst possible veux voulez
	besoin puedes
	quieres posible
	possivel puder quiser possibile vuoi puoi mogelijk nodig wilt please`)

func phraseList(rows string) map[string]bool {
	out := map[string]bool{}
	for p := range strings.SplitSeq(rows, ";") {
		if p = foldText(strings.Join(strings.Fields(p), " ")); p != "" {
			out[p] = true
		}
	}
	return out
}

// maxMarkWords is how many words begin a condition.
const maxMarkWords = 4

// findCondition returns the clause of the user's own words that the call may depend on; "" where
// there is none.
func findCondition(own string) string {
	for sentence := range strings.FieldsFuncSeq(own, func(r rune) bool { return strings.ContainsRune("\n!。！", r) }) {
		written := strings.Fields(sentence)
		fields := make([]string, len(written))
		for i, w := range written {
			fields[i] = strings.TrimSpace(foldText(w))
		}
		for i := range fields {
			mark, behind := markAt(fields, i)
			if mark == 0 {
				continue
			}
			if behind {
				return strings.TrimSpace(sentence)
			}
			if n := measureClause(fields, i, mark); n > 0 && (fields[i] != "si" || !saysYes(written[i])) {
				return strings.Join(written[i:i+n], " ")
			}
		}
		if slices.ContainsFunc(unspacedConditions[:], func(m string) bool { return strings.Contains(sentence, m) }) {
			return strings.TrimSpace(sentence)
		}
	}
	return ""
}

// saysYes tells the Spanish and Italian "yes" from "if".
func saysYes(w string) bool { return strings.ContainsAny(w, "íìÍÌ") }

// markAt returns how many words at i begin a condition. behind says that it may speak of what
// stands before.
func markAt(fields []string, i int) (size int, behind bool) {
	for n := min(maxMarkWords, len(fields)-i); n > 0; n-- {
		said := strings.Trim(strings.Join(fields[i:i+n], " "), ",.;:()\"'")
		begins := i == 0 || strings.HasSuffix(fields[i-1], ",") || strings.HasSuffix(fields[i-1], ";") || fields[i-1] == "-"
		switch {
		case proofWords[said]:
			return n, i+n >= len(fields) || fields[i+n] != "to"
		case checkWords[said] && slices.ContainsFunc(fields[i+n:min(len(fields), i+n+maxLook)], func(w string) bool { return thatWords[w] }):
			return n, true
		case conditionWords[said], looseConditions[said] && begins:
			return n, false
		case whenWords[said] && slices.ContainsFunc(fields[i+n:min(len(fields), i+n+maxClauseWords)], tellsOfOthers):
			return n, false
		}
	}
	return 0, false
}

func tellsOfOthers(w string) bool {
	return slices.ContainsFunc(happenings[:], func(h string) bool { return strings.HasPrefix(w, h) })
}

// measureClause returns how many words the clause has that begins at a word of a condition; 0 where it
// binds nothing or is part of what somebody is told.
func measureClause(fields []string, at, mark int) int {
	bare := func(w string) string { return strings.Trim(w, ",.;:?'\"") }
	for i, w := range fields[:at] {
		told := slices.ContainsFunc(fields[i+1:at], func(w string) bool { return thatWords[bare(w)] })
		if reportWords[bare(w)] && (told || at-i <= maxReport) {
			return 0
		}
	}
	end := at + mark
	for end < len(fields) && end-at < maxClauseWords+mark && !strings.ContainsAny(fields[end-1][len(fields[end-1])-1:], ",;.?") {
		end++
	}
	clause := fields[at+mark : end]
	if len(clause) == 0 || len(clause) <= maxIdle && slices.ContainsFunc(clause, func(w string) bool { return idleConditions[bare(w)] }) {
		return 0
	}
	return end - at
}

// conditions tells of the condition of a request.
type conditions struct{ *builder }

// addCondition adds the request's condition of a call that isn't a read, and what speaks of it.
func (b *conditions) addCondition() {
	if b.report.reads {
		return
	}
	own, _ := SplitOwnWords(b.in.Request)
	clause := findCondition(own)
	if clause == "" {
		return
	}
	c := &Condition{Clause: hideText(cutClause(clause))}
	words := clauseWords(foldText(clause))
	for _, list := range [][]source{b.sources, b.past} {
		for i := range list {
			if s := &list[i]; s.place.Step > 0 && !s.clock {
				if p, ok := b.tellOf(s, words); ok {
					c.Told = append(c.Told, p)
				}
			}
		}
	}
	slices.SortStableFunc(c.Told, func(x, y Place) int {
		return cmp.Or(int(y.Trust)-int(x.Trust), y.Turn-x.Turn, y.Step-x.Step)
	})
	c.Told = c.Told[:min(len(c.Told), maxTold)]
	b.report.Condition = c
}

func cutClause(s string) string {
	if len(s) <= maxClause {
		return s
	}
	return strings.ToValidUTF8(s[:maxClause], "") + cutMark
}

// clauseWords are the words by which results are told that speak of a clause. Scripts without
// blanks give pairs of their own signs.
func clauseWords(clause string) []string {
	var out []string
	for _, w := range wordsOf(clause) {
		r := []rune(w)
		if isUnspaced(r[0]) {
			for i := 0; i+1 < len(r) && len(out) < maxWords; i++ {
				if pair := string(r[i : i+2]); !unicode.In(r[i], unicode.Hiragana) && !unicode.In(r[i+1], unicode.Hiragana) {
					out = append(out, pair)
				}
			}
			continue
		}
		marks := conditionWords[w] || proofWords[w] || checkWords[w] || plainWords[w] || clauseFillers[w]
		if len(w) >= minClauseWord && !marks && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out[:min(len(out), maxWords)]
}

// clauseFillers tell no result from another.
var clauseFillers = wordSet(`is it he she we me my be by to of in on at no an or as do so up if still ever sure should must
	might may still they
	his him
	es er ja zu im am an il la le de du et un en au el lo al se si e o os as em no na di da te het een op is`)

// tellOf returns where a result speaks of a clause, or of what the call is about.
func (b *conditions) tellOf(s *source, words []string) (Place, bool) {
	if !b.spend(len(s.reading.fold) * (len(words) + 1)) {
		return Place{}, false
	}
	p := s.place
	if s.quotable {
		if t := b.tellRecord(s, words); t != "" {
			p.Text = quoteText(t, maxQuote)
			return p, true
		}
	}
	for i, l := range s.reading.lines {
		fold := s.reading.foldOf(i)
		if !slices.ContainsFunc(words, func(w string) bool { return speaksOfWord(fold, w) }) {
			continue
		}
		rec := record{s.reading.textOf(i), fold, l.field, l.strange, l.guest}
		if p.Trust == Trusted && !l.strange && b.mayQuote(s, rec) {
			p.Text = quoteText(rec.text, maxQuote)
		} else if p.Trust = min(p.Trust, Tainted); l.strange {
			p.Trust = Stranger
		}
		return p, true
	}
	return Place{}, false
}

// tellRecord writes that record of a JSON result, with the names of its fields and what is below
// it, which speaks of most words, or else holds a value of the call; "" for none.
func (b *conditions) tellRecord(s *source, words []string) string {
	root, _, ok := readNodes(s.raw)
	if !ok {
		return ""
	}
	most, best := 0, ""
	for _, n := range root.listRecords(atTop) {
		var t []string
		b.tellNode(s, n, "", &t)
		text := strings.Join(t, ", ")
		fold := foldText(text)
		score := 0
		for _, w := range words {
			score += 2 * boolOf(speaksOfWord(fold, w))
		}
		if slices.ContainsFunc(b.values, func(v value) bool { return v.kind == Reference && holdsWhole(fold, v.fold) }) {
			score++
		}
		if score > most {
			most, best = score, text
		}
	}
	return best
}

// maxToldFields bounds how many fields of a record are written.
const maxToldFields = 24

// tellNode writes the fields of a record. What its subject writes, secrets, and what a stranger's
// text or an argument says too are left out.
func (b *conditions) tellNode(s *source, n *node, name string, out *[]string) {
	w := &lineWriter{strangers: s.strangers}
	for _, c := range n.cells {
		rec := record{fold: foldText(c.text), strange: w.isStrange(c.name)}
		if len(*out) < maxToldFields && c.kind != 'n' && !hidesSecret(c.name, c.text) && b.mayQuote(s, rec) &&
			!b.isEchoed(rec.fold) {
			*out = append(*out, strings.TrimSpace(cmp.Or(c.name, name)+" "+c.text))
		}
	}
	for _, c := range n.children {
		if !w.isStrange(lastField(c.field)) {
			b.tellNode(s, c, c.name, out)
		}
	}
}

// minEchoed is how many bytes of a field are no longer a word that anything may share.
const minEchoed = 4

// isEchoed reports whether a field says what a step that isn't a look was called with, or a phrase
// of a stranger: then a store that returns it proves nothing.
func (b *conditions) isEchoed(fold string) bool {
	if len(fold) < minEchoed {
		return false
	}
	phrase := len(wordsOf(fold)) > 2
	for _, list := range [][]source{b.sources, b.past} {
		for i := range list {
			s := &list[i]
			if s.place.Step == 0 || !b.spend(len(s.asked)+len(s.reading.fold)) {
				continue
			}
			if !s.look && strings.Contains(s.asked, fold) || phrase && s.place.Trust < Trusted && strings.Contains(s.reading.fold, fold) {
				return true
			}
		}
	}
	return false
}

// listRecords are the records of a result: the items of its outermost lists, or the result itself.
func (n *node) listRecords(d depth) []*node {
	if d == isRecord || d == inRecord {
		return []*node{n}
	}
	var out []*node
	for _, c := range n.children {
		out = append(out, c.listRecords(n.enter(d))...)
	}
	if n.object && len(n.cells) > 0 && len(out) == 0 {
		out = append(out, n)
	}
	return out
}

// speaksOfWord reports whether a text has a word, whatever its ending.
func speaksOfWord(text, w string) bool {
	stem := stemOf(w)
	for from := 0; from < len(text); {
		i := strings.Index(text[from:], stem)
		if i < 0 {
			return false
		}
		if i += from; endsWord(text[:i], stem) || isUnspaced([]rune(stem)[0]) {
			return true
		}
		from = i + len(stem)
	}
	return false
}
