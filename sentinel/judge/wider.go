package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-dev/vedette/skills"
)

// The signals of a call that does more than it was asked for: to all instead
// of one, for everybody instead of somebody, as an owner instead of a reader,
// in another currency, many times.
const (
	SignalEverything    = "everything"
	SignalWiderRights   = "wider_rights"
	SignalOtherCurrency = "other_currency"
	SignalManyMore      = "many_more"
	SignalDataInURL     = "data_in_url"
	SignalOtherFile     = "other_file"
	SignalUnreadable    = "unreadable_request"
)

// allWords say that all of something is meant, in the languages that people
// ask in. They are looked for in the words and, for scripts without blanks, in
// the text.
var (
	allWords = set(`all every everything everyone everybody entire whole each both any clear empty purge wipe reset everywhere
		tout toute tous toutes vide vider alle alles allen ganze ganzen leere leeren todo todos toda todas vacia vaciar tudo
		limpa tutto tutti tutta tutte svuota leeg hele все всё всех весь всю wszystkie wszystko cale tum hepsi butun hepsini
		alla allt كل جميع הכל כל`)
	allParts = []string{"全部", "すべて", "全て", "所有", "모든", "모두", "सभी"}
	allOf    = set("* ** *.* **/* .* % all everything any / in:anywhere")
	// likeWords choose files by another that is named.
	likeWords = set("copy copies duplicate duplicates version versions similar like except but other others backup backups")
	allNames  = set("all everything")
	// queryNames are of what chooses: an empty one chooses all.
	queryNames = set("query filter pattern match search where")
)

// everything looks for a removal of all there is if the request doesn't speak of
// all.
func everything(v *view) finding {
	var f finding
	if v.request == nil || v.p.needs&removes == 0 || v.request.delegates || v.request.means(allWords, allParts) {
		return f
	}
	v.s.Walk(v.c.Parsed(), func(a skills.Arg) {
		s, text := a.Text()
		on, _ := a.Value.(bool)
		s = strings.TrimSpace(fold(s))
		if on && isAny(nameWords(a.Name), allNames) || text && (allOf[s] || s == "" && isAny(last(nameWords(a.Name)), queryNames)) {
			f.add(v.declared(a))
		}
	})
	return f
}

// otherFile looks for the removal of a file where the request names others. Of a
// call that isn't in the request anyhow that would be the same sign twice.
func otherFile(v *view) finding {
	var f finding
	r := v.request
	if r == nil || v.related || v.p.needs&removes == 0 || r.delegates || !r.files || r.means(allWords, allParts) || r.means(likeWords, nil) {
		return f
	}
	for _, val := range v.values {
		if i := strings.LastIndexByte(val.fold, '.'); i > 0 && fileEndings[val.fold[i+1:]] &&
			!strings.ContainsAny(val.fold, "*?@") && !v.grounds(val) && !r.namesFile(val.fold) {
			f.add(val.arg)
		}
	}
	return f
}

// means reports whether a text has one of the words, or one of the parts of
// scripts that put no blanks between words.
func (t *text) means(words map[string]bool, parts []string) bool {
	for w := range t.raw {
		if words[w] {
			return true
		}
	}
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(t.fold, fold(p)) })
}

func (v *view) declared(a skills.Arg) string {
	if arg := topLevel(a.Pointer); v.s.Declares(arg) {
		return arg
	}
	return ""
}

// rights are the words of an argument that open something wide, and the words
// of a request that ask for that.
var rights = []struct{ values, words map[string]bool }{
	{
		set("public publicly anyone everyone everybody world all allusers anonymous internet offentlich publico publique pubblico openbaar"),
		set(`public publicly publish anyone everyone everybody all world open link website blog online offentlich publico publica publique
			pubblico pubblica openbaar alle alles tous todos tutti iedereen`),
	},
	{
		set("owner admin administrator administrators admins superuser superadmin root sysadmin full owners"),
		set(`owner owners ownership admin admins administrator administrators full superuser root manage manager control rights
			eigentumer administrateur proprietaire administrador propietario dono amministratore proprietario beheerder eigenaar hand`),
	},
}

var (
	rightNames = set("role roles access permission permissions visibility privacy acl level scope grants principal audience type sharing")
	openNames  = set("public anyone everyone link")
)

// widerRights looks for a right that is wider than the request speaks of.
func widerRights(v *view) finding {
	var f finding
	if v.request == nil || !v.request.known || !v.p.changes || v.p.needs&(letsIn|creates|modifies) == 0 {
		return f
	}
	see := func(a skills.Arg, words []string) {
		for _, r := range rights {
			if isAny(words, r.values) && !v.request.means(r.words, nil) {
				f.add(v.declared(a))
			}
		}
	}
	v.s.Walk(v.c.Parsed(), func(a skills.Arg) {
		name := nameWords(topLevel(a.Pointer))
		fits := isAny(nameWords(a.Name), rightNames) || isAny(name, rightNames)
		switch s, ok := a.Text(); {
		case a.Marks.Has(skills.Content):
		case ok && fits && len(s) < 64:
			see(a, whoAndWhat(a.Name, s))
		case a.Value == true && v.p.needs&letsIn != 0 && isAny(nameWords(a.Name), openNames):
			see(a, []string{"public"})
		}
	})
	return f
}

// whoAndWhat are the words of a right that is written as a key and a value.
func whoAndWhat(key, value string) []string {
	words := append(nameWords(fold(key)), nameWords(fold(value))...)
	if key == "*" || value == "*" {
		words = append(words, "public")
	}
	return words
}

// moneys are the names of currencies by what people call them; dollars and
// crowns are of several countries.
var moneys = func() map[string]string {
	out := map[string]string{}
	for code, row := range map[string]string{
		"eur": "eur euro euros € евро", "gbp": "gbp £ sterling", "jpy": "jpy yen ¥", "chf": "chf franken francs", "pln": "pln zl zloty zlotych",
		"usd": "usd $ dollar dollars bucks us$ aud cad nzd sgd hkd", "btc": "btc bitcoin bitcoins",
		"eth": "eth ether ethereum", "sek": "sek nok dkk kr kronor kroner",
		"inr": "inr rupees ₹", "cny": "cny rmb yuan", "rub": "rub rubles ₽", "try": "try lira ₺", "brl": "brl reais r$", "krw": "krw won ₩",
	} {
		for w := range strings.FieldsSeq(row) {
			out[fold(w)] = code
		}
	}
	return out
}()

// moneysIn returns the currencies that a folded text speaks of.
func moneysIn(fold string) map[string]bool {
	var out map[string]bool
	add := func(w string) {
		if code := moneys[w]; code != "" {
			if out == nil {
				out = map[string]bool{}
			}
			out[code] = true
		}
	}
	for f := range strings.FieldsSeq(fold) {
		add(strings.Trim(f, ".,:;!?()'\"0123456789"))
		for _, r := range f {
			if unicode.Is(unicode.Sc, r) {
				add(string(r))
			}
		}
	}
	return out
}

// otherCurrency looks for a currency that is none of those in the request.
func otherCurrency(v *view) finding {
	var f finding
	if v.request == nil || !v.p.changes {
		return f
	}
	var have map[string]bool // read where it is needed
	v.s.Walk(v.c.Parsed(), func(a skills.Arg) {
		s, ok := a.Text()
		if s = strings.TrimSpace(fold(s)); !ok || s == "" || !isAny(last(nameWords(a.Name)), currencyNames) {
			return
		}
		if have == nil {
			if have = moneysIn(v.request.fold); have == nil {
				have = map[string]bool{}
			}
		}
		if code := moneys[s]; len(have) > 0 && !have[code] && !v.request.raw[s] && !(have["usd"] && strings.Contains(v.request.fold, "pound")) {
			f.add(v.declared(a))
		}
	})
	return f
}

var (
	currencyNames = set("currency asset coin")
	countNames    = set("quantity qty count seats licenses rooms units tickets copies pieces")
)

// manyMore looks for many times more things than the request counts.
func manyMore(v *view) finding {
	var f finding
	if v.request == nil || len(v.request.sums.all) == 0 || v.s.Effect() != skills.CostsMoney && v.p.needs&pays == 0 {
		return f
	}
	most := max(slices.Max(v.request.sums.all), farMore)
	v.s.Walk(v.c.Parsed(), func(a skills.Arg) {
		n, ok := a.Value.(json.Number)
		if !ok || !isAny(last(nameWords(a.Name)), countNames) {
			return
		}
		if c, err := n.Float64(); err == nil && c > most*farMore {
			f.add(v.declared(a))
		}
	})
	return f
}

// standingNames are of skills whose change goes on working by itself.
var standingNames = set("rule rules filter filters forwarding webhook hook token key keys password")

// unreadable looks for a change that can't be taken back, pays, opens or lets
// in, in a branch that has read a stranger's text, where of the request nothing
// can be read: there only a person can tell which of the two asked for it.
func unreadable(v *view) finding {
	r := v.request
	if r == nil || r.known || !v.p.changes || v.p.delegation || !v.c.Tainted() || strings.TrimSpace(r.fold) == "" {
		return finding{}
	}
	e := v.s.Effect()
	needs := v.p.needs
	if e == skills.CostsMoney {
		needs |= pays
	}
	if r.asks()&needs != 0 {
		return finding{}
	}
	return finding{found: isAny(nameWords(v.c.Name()), standingNames) || e == skills.Irreversible || e == skills.CostsMoney ||
		e == skills.Modify && v.p.needs&(removes|letsIn) != 0 || v.p.private != nil}
}
