package judge

import (
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// allWords say that all of something is meant, in the languages that people
// ask in. They are looked for in the words and, for scripts without blanks, in
// the text.
var (
	allWords = wordSet(`all every everything everyone everybody entire whole each both any clear empty purge wipe reset everywhere
		tout toute tous toutes vide vider alle alles allen ganze ganzen leere leeren todo todos toda todas vacia vaciar tudo
		limpa tutto tutti tutta tutte svuota leeg hele все всё всех весь всю wszystkie wszystko cale tum hepsi butun hepsini
		alla allt كل جميع הכל כל`)
	allParts = foldAll("全部", "すべて", "全て", "所有", "모든", "모두", "सभी")
	allOf    = wordSet("* ** *.* **/* .* % all everything any / in:anywhere")
	// likeWords choose files by another that is named.
	likeWords = wordSet("copy copies duplicate duplicates version versions similar like except but other others backup backups")
	allNames  = wordSet("all everything")
	// queryNames are of what chooses: an empty one chooses all.
	queryNames = wordSet("query filter pattern match search where")
)

// findEverything looks for a removal of all there is if the request doesn't speak of
// all.
func findEverything(v *view) finding {
	var f finding
	if v.request == nil || v.p.needs&removes == 0 || v.own.delegates || v.own.mentionsAny(allWords, allParts) {
		return f
	}
	v.c.WalkArgs(func(a skills.Arg) {
		s, text := a.Text()
		on, _ := a.Value.(bool)
		s = strings.TrimSpace(foldText(s))
		if on && isAny(v.splitArgName(a.Name), allNames) || text && (allOf[s] || s == "" && isAny(lastWord(v.splitArgName(a.Name)), queryNames)) {
			f.add(v.declaredName(a))
		}
	})
	return f
}

// findOtherFile looks for the removal of a file where the request names others. Of a
// call that isn't in the request anyhow that would be the same sign twice.
func findOtherFile(v *view) finding {
	var f finding
	r := v.request
	if r == nil || v.related || v.p.needs&removes == 0 || v.own.delegates || !r.files || v.own.mentionsAny(allWords, allParts) ||
		v.own.mentionsAny(likeWords, nil) {
		return f
	}
	r = v.statedIn(func(t *text) bool { return t.files })
	for _, val := range v.values {
		if i := strings.LastIndexByte(val.fold, '.'); i > 0 && fileEndings[val.fold[i+1:]] &&
			!strings.ContainsAny(val.fold, "*?@") && !v.isGrounded(val) && !r.namesFile(val.fold) {
			f.add(val.arg)
		}
	}
	return f
}
