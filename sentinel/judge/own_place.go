package judge

import (
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// People have things sent "home", and move money "to savings". Such a word is no address: the skill looks it up among
// what the user has set up. Which of these the user means a reader can tell, so where no stranger named it, it is in doubt.

// signalOwn is of a place or an account of the user's own that is called by a common word.
const signalOwn = "recipient_own"

// isOwnPlace reports whether a recipient that is nowhere is a common word for a place or an account of
// the user's own, in an argument for such.
func isOwnPlace(v *view, val value) bool {
	words := v.splitArgName(val.arg)
	switch {
	case v.p.needs&letsIn != 0 && v.s.Effect() != skills.CostsMoney:
		return false
	case isAny(words, deliveryNames) && v.p.needs&(sends|posts) == 0:
		return isOwnWord(val.fold, ownPlaces)
	case movesBetweenOwn(v) && isAny(lastWord(words), ownAccountNames):
		return isOwnWord(val.fold, ownAccounts)
	}
	return false
}

// movesBetweenOwn reports whether a call moves money and pays none: its skill reaches the user alone,
// and can be undone.
func movesBetweenOwn(v *view) bool {
	return v.s.Effect() == skills.Modify && v.s.Reaches() == skills.Self && !v.isOutgoing() && v.p.needs&letsIn == 0 &&
		v.p.concepts&fields.money != 0
}

// isOwnWord reports whether a value is such a word, perhaps with words around it that say whose it is.
func isOwnWord(fold string, common map[string]bool) bool {
	own := false
	for w := range strings.FieldsFuncSeq(fold, func(r rune) bool { return !isWordRune(r) }) {
		switch {
		case common[w]:
			own = true
		case !ownFillers[w]:
			return false
		}
	}
	return own
}

var (
	// deliveryNames are of arguments that hold where a thing is brought.
	deliveryNames   = wordSet("ship shipping deliver delivery")
	ownAccountNames = wordSet("account pot to target destination")
	ownPlaces       = wordSet(foldText(`home work office house flat apartment default primary billing maison domicile bureau travail
		zuhause daheim büro arbeit wohnung casa hogar domicilio oficina trabajo
		piso escritório trabalho morada ufficio lavoro thuis kantoor werk huis
		hem hemma jobbet kontoret hjemme kontor arbejde dom praca biuro дом работа офис ev iş ofis
		البيت المنزل المكتب العمل בית עבודה משרד
		自宅 家 実家 会社 職場 オフィス 家里 公司 单位 办公室 집 회사 사무실 직장 घर दफ्तर`))
	ownAccounts = wordSet(foldText(`savings saving checking chequing current main primary default joint deposit cash giro girokonto sparkonto
		tagesgeld konto courant épargne livret corriente ahorro ahorros nómina corrente poupança ordem conto corrente risparmio
		spaarrekening betaalrekening sparen lönekonto sparkonto ror oszczędnościowe сбережения накопительный
		текущий vadesiz vadeli توفير جاري عو״ש חיסכון
		普通 貯蓄 定期 活期 储蓄 예금 적금`))
	ownFillers = wordSet(foldText(`my the our account address place pot konto adresse adresa dirección compte cuenta conta conto rekening
		mein meine meiner mon ma mes mi mis meu minha mio mia mijn min`))
)
