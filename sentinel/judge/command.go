package judge

import (
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
)

// command reads which sentences of a user's words command something. Words that forbid, ask,
// tell or only think of it command nothing.
type command struct {
	needs verb // what the skill does
	light bool // a question and a report may ask for it as well
}

// selectCommands returns the sentences of a text that may ask for what the skill does. Of a
// light skill that is each sentence that doesn't forbid. Of any other skill it is each with a
// clause that commands: a verb of the skill's, and no word before it that takes that back.
func (c command) selectCommands(words string) string {
	var kept []string
	for _, s := range splitSentences(strings.ReplaceAll(words, "’", "'")) {
		if c.keepsSentence(s) {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "\n")
}

// splitSentences splits a text and leaves each sentence its last sign.
func splitSentences(s string) []string {
	var out []string
	start := 0
	for i, r := range s {
		ends := strings.ContainsRune("!?;\n؟？。", r) || r == '.' && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\n')
		if ends {
			out = append(out, s[start:i+len(string(r))])
			start = i + len(string(r))
		}
	}
	return append(out, s[start:])
}

func (c command) keepsSentence(s string) bool {
	fold := dropPhrases(" "+foldText(s)+" ", harmlessNegations)
	if sentinel.IsWithdrawal(s) && (c.needs&removes == 0 || !strings.HasPrefix(strings.TrimSpace(fold), "cancel")) {
		return false
	}
	commands, polite := false, false
	for clause := range strings.FieldsFuncSeq(splitAtJoints(fold), func(r rune) bool { return strings.ContainsRune(",:|()", r) }) {
		list := splitTokens(clause)
		at := c.findVerb(list)
		before := list[:max(at, 0)]
		polite = polite || isPolite(before)
		lead := at >= 0 && !c.isTakenBack(before)
		if isNegated(before) || isNegated(list) && !(lead && isNegatedAside(list[len(before):])) {
			return false
		}
		commands = commands || lead
	}
	if c.light {
		return true
	}
	return commands && (polite || !strings.ContainsAny(fold, "?؟？"))
}

// joints are the words between two clauses.
var joints = wordSet("and then und dann et puis y luego depois poi en dan")

func splitAtJoints(fold string) string {
	var b strings.Builder
	for f := range strings.FieldsSeq(fold) {
		if joints[f] {
			f = "|"
		}
		b.WriteString(f)
		b.WriteByte(' ')
	}
	return b.String()
}

func dropPhrases(fold string, phrases []string) string {
	for _, p := range phrases {
		fold = strings.ReplaceAll(fold, p, " ")
	}
	return fold
}

// harmlessNegations hold a negation and forbid nothing.
var harmlessNegations = []string{" don't forget ", " do not forget ", " dont forget ", " no later than ", " not later than ",
	" no more than ",
	" not more than ", " no less than ", " no problem ", " no worries ", " no hurry ", " no rush ", " without delay ", " don't hesitate ",
	" n'oublie pas ", " n'oubliez pas ", " pas plus de ", " vergiss nicht ", " nicht vergessen ", " nicht mehr als ", " ohne eile ",
	" no olvides ", " no mas de ", " nao esqueca ", " nao mais de ", " non dimenticare ", " non piu di ", " vergeet niet ", " niet meer dan ",
	" o mais tardar no ", " no maximo ", " not only ", " nicht nur ", " pas seulement ", " no solo "}

// findVerb returns the index of the first word that asks for what the skill does, or the
// length of the list where several words do so together. It is -1 where there is none.
func (c command) findVerb(list []token) int {
	for i, w := range list {
		prev, next := "", ""
		if i > 0 {
			prev = list[i-1].word
		}
		if i+1 < len(list) {
			next = list[i+1].word
		}
		switch {
		case !c.light && (toMe[w.word] || w.word == "remind") && (next == "me" || next == "us"): // what follows is told
			return -1
		case verbsOf(w)&c.needs == 0, isTellingForm(w.word):
		case nounToo[w.word] && (!beforeVerb[prev] && i > 0 || afterNoun[next]): // "my email", "email from Kim"
		default:
			return i
		}
	}
	whole := make([]string, len(list))
	for i, w := range list {
		whole[i] = w.word
		if isTellingForm(w.word) && verbsOf(w)&c.needs != 0 {
			return -1
		}
	}
	if readText(strings.Join(whole, " ")).says&c.needs != 0 && !hasWord(list, nounToo) {
		return len(list)
	}
	return -1
}

// afterNoun stand behind a thing and not behind what is asked for.
var afterNoun = wordSet("from of is was are were has had have did does that which")

// verbsOf is what a word may ask for, in each language that is read.
func verbsOf(w token) verb {
	v := saying[w.stem]
	for i := range languages {
		says, _ := languages[i].meaningOf(w.word)
		v |= says
	}
	return v
}

// isTellingForm reports whether a verb of English is in a form that tells: "deleted",
// "deletes".
func isTellingForm(w string) bool {
	return saying[stemWord(w)] != 0 && (len(w) > 4 && strings.HasSuffix(w, "ed") && w != "need" && w != "feed" ||
		len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss"))
}

func hasWord(list []token, words map[string]bool) bool { return hasWordNear(list, len(list), words) }

// isTakenBack reports whether words before a verb say that it isn't a command.
func (c command) isTakenBack(before []token) bool {
	if c.light {
		return false
	}
	if hasWord(before, reporting) {
		return true
	}
	if len(before) == 0 {
		return false
	}
	if w := before[0].word; w == "remind" || verbsOf(before[0])&looks != 0 && !isPolite(before) {
		return true // "show me how to send": what it asks for is to look
	}
	return hasWord(before, speakers) && !hasWord(before, wishing) && !isPolite(before)
}

// isNegatedAside reports whether what follows a command is negated in an aside alone: "tell
// Kim that I can't come".
func isNegatedAside(rest []token) bool {
	for i, w := range rest {
		if asides[w.word] {
			return !isNegated(rest[:i])
		}
	}
	return !isNegated(rest)
}

func isNegated(list []token) bool {
	for i, w := range list {
		contraction := w.word == "t" && i > 0 && strings.HasSuffix(list[i-1].word, "n")
		if contraction || isNegation(w.word) && !(w.word == "no" && hasWord(list, portuguese)) {
			return true
		}
	}
	return hasPair(list, "instead", "of") || hasPair(list, "rather", "than") || len(list) > 1 && list[0].word == "n"
}

func hasPair(list []token, first, second string) bool {
	for i, w := range list {
		if w.word == first && i+1 < len(list) && list[i+1].word == second {
			return true
		}
	}
	return false
}

func isNegation(w string) bool {
	return denials[w] || strings.HasPrefix(w, "kein") || len(w) > 3 && strings.HasSuffix(w, "nt") && contractions[w]
}

// isPolite reports whether words before a verb make a question a command: "could you".
func isPolite(before []token) bool {
	return hasWord(before, pleases) || hasWord(before, modals) && hasWord(before, addressed) && !hasWord(before, reporting)
}

var (
	denials = wordSet(`not anstatt statt never no none nothing nobody without neither nor cannot avoid refrain forbid forbidden prohibit ` +
		`prohibited
		refuse nowhere nicht nie niemals ohne niemand nichts weder vermeide verboten ne pas jamais sans rien personne aucun aucune ni evite
		evita eviter interdit nunca jamas sin nadie nada ningun ninguna tampoco nao nem sem ninguem nenhum nenhuma non mai senza nessuno
		nessuna niente neanche niet geen nooit zonder niemand niets vermijd не нет никогда без ingen inte ikke aldrig aldri nigdy bez
		nikdy`)
	contractions = wordSet("dont doesnt didnt wont cant couldnt shouldnt wouldnt mustnt isnt arent wasnt werent havent hasnt hadnt neednt")
	portuguese   = wordSet("os um uma meu minha meus minhas ao na das dos em")
	// reporting words before a verb ask, tell or think of it.
	reporting = wordSet(`who what when where why which how whose whether if because since did does do have has had was were been
		should shall may might asked told said thought supposed ago yesterday wer was wann wo warum wieso weshalb welche wie ob wenn weil
		hast hat habe haben hatte hattest war wurde wurden soll sollte qui quoi quand ou pourquoi comment combien si as a-t avez avait
		quien que cuando donde por-que como si has ha habia quem quando onde porque tem tinha chi perche dove hai aveva wie waarom waar
		wanneer hoe hebt heeft had of`)
	// asides begin what somebody else is to be told.
	asides = wordSet(`that because since as i we he she it they who which if saying dass weil da ich wir er sie es que parce car je nous il
		elle porque eu nos ele ela yo che perche io noi lui lei dat omdat ik wij hij zij`)
	speakers = wordSet("i we he she they you i'm i'll we'll ich wir er je nous il elle yo eu io noi ik wij hij zij")
	wishing  = wordSet(`want need like would please ask let have must mochte will brauche muss bitte veux voudrais dois quiero necesito
		quisiera quero preciso gostaria voglio vorrei devo wil moet graag`)
	pleases = wordSet("please bitte svp plait favor favore alsjeblieft alstublieft aub")
	modals  = wordSet(`can could would will kannst konnen konntest konnten wurdest wurden peux pouvez pourrais pourriez puedes podrias puede
		podria pode poderia podes puoi potresti potrebbe kun kunt zou wil`)
	addressed = wordSet(`you du sie tu vous peux pouvez pourrais pourriez puedes podrias puede podria pode poderia podes puoi potresti potrebbe
		je u`)
)
