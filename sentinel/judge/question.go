package judge

import "strings"

// isQuestion reports whether a folded sentence asks: by its last sign, or by its first word.
func isQuestion(sentence string, words []token) bool {
	return strings.HasSuffix(sentence, "?") || strings.HasSuffix(sentence, "؟") || len(words) > 0 && questionHeads[words[0].word]
}

// asksByQuestion reports whether the word at an index asks for a change though its sentence is a
// question: it is a command to begin with ("delete it, ok?"), or the question is a polite one.
func (l *language) asksByQuestion(words []token, at int) bool {
	if at == 0 && (l.says[words[0].word]|l.stems.says[words[0].word])&anyChange != 0 {
		return true
	}
	before := words[:at]
	if hasWord(before, reporting) || hasWord(before, questionWords) || len(words) > 0 && questionHeads[words[0].word] {
		return false
	}
	return isPolite(before) || hasWord(words, pleases) || hasWord(words, politeWords)
}

// verbsInAnyLanguage is what the words of a folded text ask for in any language but English.
func verbsInAnyLanguage(fold string) verb {
	var says verb
	for _, sentence := range splitSentences(fold) {
		words := splitTokens(sentence)
		looking := isQuestion(sentence, words)
		for i, w := range words {
			for l := range languages {
				if v, _ := languages[l].meaningOf(w.word); v&^says != 0 && (!looking || languages[l].asksByQuestion(words, i)) {
					says |= v
				}
			}
			if v := foreignAsks[w.word]; v != 0 && (!looking || languages[0].asksByQuestion(words, i)) {
				says |= v
			}
		}
	}
	return says
}

// dropAddresses returns a text without the words that hold an address, whose signs end no sentence.
func dropAddresses(fold string) string {
	if !strings.Contains(fold, "://") && !strings.Contains(fold, "@") {
		return fold
	}
	var b strings.Builder
	for line := range strings.Lines(fold) {
		for f := range strings.FieldsSeq(line) {
			if !strings.Contains(f, "@") && !strings.Contains(f, "://") {
				b.WriteString(f)
				b.WriteByte(' ')
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var (
	// questionHeads begin a question and no command. What begins a condition as well ("quand",
	// "cuando", "wanneer") isn't among them.
	questionHeads = wordSet(`wer warum wieso weshalb welche welcher welches welchen wieviel hast habt wurde wurden qui pourquoi combien quel
		quelle quels quelles quien quienes cual cuales cuantos cuantas quem qual quais quanto quantos quantas chi quale quali quanti quante
		waarom welke hoeveel heb heeft vilka vilken vilket hvilke hvilken hvilket`)
	// questionWords are those of further languages; reporting has the others.
	questionWords = wordSet(foldText(`które który która jakie jaki jaka kiedy kto gdzie ile
		 какие какой какая какое когда кто где сколько почему
		які який яка коли хто скільки чому které který která kdy kdo kolik vilka vilken vilket när vem varför hvilke hvilken hvilket hvornår
		hvem hvorfor hangi nasıl kaç nerede care când cine cât câte mitä mikä mitkä milloin kuka melyik mikor hány mana kapan siapa berapa
		nào ποια ποιες ποιο πότε ποιος أي متى كم אילו איזה מתי כמה`))
	// politeWords make a question a request in further languages, with no other word beside them.
	politeWords = wordSet(foldText(`możesz możecie mógłbyś mogłabyś proszę можешь можете мог могла могли пожалуйста можеш зможеш
		můžeš můžete mohl mohla prosím kan kunde skulle snälla kunne vil gider venligst misin misiniz mısın mısınız musun musunuz müsün
		müsünüz lütfen poți puteți ai putea rog voitko voisitko voitteko voisitteko kiitos tudnád tudnál kérlek bisa bisakah tolong mohon
		thể giúp xin μπορείς μπορείτε μπορούσες παρακαλώ يمكنك ممكن تستطيع فضلك תוכל תוכלי יכול יכולה אפשר בבקשה`))
)
