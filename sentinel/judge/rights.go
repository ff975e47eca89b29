package judge

import (
	"slices"

	"github.com/vedette-dev/vedette/skills"
)

// rights pairs the words of an argument that open something wide with words of a request that
// ask for it.
var rights = []struct{ values, words map[string]bool }{
	{
		wordSet("public publicly anyone everyone everybody world all allusers anonymous internet offentlich publico publique pubblico openbaar"),
		wordSet(`public publicly publish anyone everyone everybody all world open link website blog online offentlich publico publica publique
			pubblico pubblica openbaar alle alles tous todos tutti iedereen`),
	},
	{
		wordSet("owner admin administrator administrators admins superuser superadmin root sysadmin full owners"),
		wordSet(`owner owners ownership admin admins administrator administrators full superuser root manage manager control rights
			eigentumer administrateur proprietaire administrador propietario dono amministratore proprietario beheerder eigenaar hand`),
	},
}

var (
	rightNames = wordSet("role roles access permission permissions visibility privacy acl level scope grants principal audience type sharing")
	openNames  = wordSet("public anyone everyone link")
)

// findWiderRights looks for a right that is wider than the request speaks of.
func findWiderRights(v *view) finding {
	var f finding
	if v.request == nil || !v.request.known || !v.p.changes || v.p.needs&(letsIn|creates|modifies) == 0 {
		return f
	}
	see := func(a skills.Arg, words []string) {
		for _, r := range rights {
			if isAny(words, r.values) && !asksForAny(v, r.words) && !isCustomary(v, words) {
				f.add(v.declaredName(a))
			}
		}
	}
	v.c.WalkArgs(func(a skills.Arg) {
		fits := v.readName(a.Name).all&rightName != 0 || v.readName(topLevelName(a.Pointer)).all&rightName != 0
		switch s, ok := a.Text(); {
		case a.Marks.Has(skills.Content):
		case ok && fits && len(s) < 64:
			see(a, wordsOfRight(a.Name, s))
		case a.Value == true && v.p.needs&letsIn != 0 && isAny(v.splitArgName(a.Name), openNames):
			see(a, []string{"public"})
		}
	})
	findMoreThanLook(v, &f)
	return f
}

// isCustomary reports whether a trusted result has the word for who hears of something, in a
// call that gives no person a right: "sent to everyone", of the note of absence of last year.
func isCustomary(v *view, words []string) bool {
	return v.p.needs&letsIn == 0 && slices.ContainsFunc(words, func(w string) bool {
		return rights[0].values[w] && v.isAttested(w, func(r string) bool { return holdsWhole(r, w) })
	})
}

// wordsOfRight are the words of a right that is written as a key and a value.
func wordsOfRight(key, value string) []string {
	words := append(splitName(foldText(key)), splitName(foldText(value))...)
	if key == "*" || value == "*" {
		words = append(words, "public")
	}
	return words
}
