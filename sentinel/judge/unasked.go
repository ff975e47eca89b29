package judge

import (
	"github.com/vedette-dev/vedette/skills"
)

// findUnasked looks for switches that are turned on and rights that are given though the
// request has no word for them.
func findUnasked(v *view) finding {
	final := false
	f := findUnspoken(v, func(a skills.Arg) bool {
		final = final || a.Value == true && isAny(v.splitArgName(a.Name), finalSwitches) && !spellsOut(v, v.splitArgName(a.Name))
		return !a.Marks.Has(skills.Right) && !isForbidden(v, a)
	})
	if f.found && final && v.isFinal() {
		f.extra = finalUnasked
	}
	return f
}

// finalUnasked is what a removal for good costs beyond the signal's own, so that the doubt
// asks by itself: what is in a bin can be had back.
const finalUnasked = -6

// finalSwitches leave no way back.
var finalSwitches = wordSet("permanent permanently purge hard shred")

// findUnaskedRight looks for the same in arguments that the schema marks as rights, and in those
// of which the request says that they shall not be.
func findUnaskedRight(v *view) finding {
	if v.request == nil || !v.marks.Has(skills.Right) && len(forbidden(v).raw) == 0 {
		return finding{}
	}
	return findUnspoken(v, func(a skills.Arg) bool { return a.Marks.Has(skills.Right) || isForbidden(v, a) })
}

func findUnspoken(v *view, fits func(skills.Arg) bool) finding {
	var f finding
	if v.request == nil || !v.request.known || !v.p.changes {
		return f
	}
	v.c.WalkArgs(func(a skills.Arg) {
		if a.Marks&(skills.Content|skills.Secret) != 0 && !a.Marks.Has(skills.Right) || !fits(a) {
			return
		}
		named := v.readName(a.Name)
		name := named.words
		marked := a.Marks.Has(skills.Right)
		s, isText := a.Text()
		switch {
		case a.Value == true:
			if !isAny(name, informing) && (marked || isAny(name, graveSwitches)) && !spellsOut(v, name) {
				f.add(v.declaredName(a))
			}
		case isText && len(s) < 64 && (marked || named.all&roleName != 0 && isAny(splitName(foldText(s)), editValues)):
			words := splitName(foldText(s))
			if s != "" && !isAny(words, narrowValues) && !spellsOut(v, words) {
				f.add(v.declaredName(a))
			}
		}
	})
	return f
}

// spellsOut reports whether the request has one of the words, or another word for it. A word
// under a negation asks for nothing, but for a switch that prevents something.
func spellsOut(v *view, words []string) bool {
	forbidden := forbidden(v)
	if isAny(words, preventing) {
		forbidden = forbiddenWords{}
	}
	for _, w := range words {
		stem := stemWord(w)
		if !helpers[w] && (v.own.words[stem] && !forbidden.stems[stem] || v.own.raw[w] && !forbidden.raw[w]) {
			return true
		}
		for _, group := range rightWords {
			if group.values[w] && mentionsBut(v.own, group.words, forbidden.raw) {
				return true
			}
		}
	}
	return false
}

var (
	// graveSwitches are in the names of switches that do more than what is asked for: for good,
	// for others, again and again, without a net.
	graveSwitches = wordSet(`permanent permanently purge hard force recursive cascade skip bypass override disable overwrite subscribe
		subscription recurring autorenew renew auto share shared reshare resharing public anonymous edit write admin owner invite export unlimited
		everyone all delete remove without ignore`)
	informing    = wordSet("notify notification notifications remind reminder silent quiet read")
	helpers      = wordSet("can may allow allows allowed enable enabled with is be do to the a an of for and or on all auto set")
	roleNames    = wordSet("role roles permission permissions access level right rights")
	narrowValues = wordSet(`view viewer viewers reader readers read readonly see freebusy none private person self single guest
		commenter comment false no off`)
	editValues = wordSet("editor editors edit write writer writers readwrite contributor contributors modify manage manager collaborator")
)

// rightWords pairs the words of a switch or a right with those by which people ask for it.
var rightWords = []struct{ values, words map[string]bool }{
	{editValues, editWords},
	{wordSet("permanent permanently purge hard"), wordSet(`permanent permanently forever irrevocably purge shred wipe endgultig dauerhaft
		definitivamente definitivement permanente definitivo definitief voorgoed`)},
	{wordSet("subscribe subscription recurring autorenew renew"), wordSet(`subscribe subscription recurring monthly weekly every renew
		regularly abo abonnieren abonnement abonner suscripcion suscribir assinatura abbonamento abonneren`)},
	{wordSet("share shared reshare resharing"), wordSet("reshare pass onward")},
	rights[0], rights[1],
}

// editWords are those by which people ask for a right to change something.
var editWords = wordSet(`edit edits editing editor editors write writing writes change changes changing modify work collaborate
	contribute update improve correct fix bearbeiten andern schreiben mitarbeiten modifier ecrire editar modificar escribir escrever
	modificare scrivere bewerken schrijven`)

// lookPhrases say that somebody may look and no more.
var (
	lookWords   = wordSet("view see look ansehen anschauen voir ver vedere zien bekijken")
	lookPhrases = foldAll("view only", "view-only", "read only", "read-only", "only read", "nur lesen", "lesezugriff", "lecture seule",
		"solo lectura", "so leitura", "sola lettura", "alleen lezen", "just look", "only look", "only view", "only see")
	changeSwitches = wordSet("reshare resharing share edit write invite admin manage delete")
)

// findMoreThanLook looks for a right to change or to pass on where the request says that
// somebody may look.
func findMoreThanLook(v *view, f *finding) {
	if v.p.needs&letsIn == 0 || !v.request.mentionsAny(lookWords, lookPhrases) || asksForAny(v, editWords) {
		return
	}
	v.s.Walk(v.c.Parsed(), func(a skills.Arg) {
		name := splitName(a.Name)
		s, ok := a.Text()
		switch {
		case a.Marks.Has(skills.Content):
		case ok && len(s) < 64 && isAny(name, rightNames) && isAny(splitName(foldText(s)), editValues),
			a.Value == true && isAny(name, changeSwitches):
			f.add(v.declaredName(a))
		}
	})
}
