package grammar

import (
	"slices"
	"strings"
)

// language is what the rules know of a language, its words without marks on their letters.
type language struct {
	units, scales     string // "word=value"
	links             string // words between two parts of a number
	months, days      string // January and Monday first; "a/b" for two words of one
	about             string // words before a topic; "_" for the space within
	articles          string
	negations         string
	most              string // words before the greatest number
	budget            string
	deadline          string // words before a date
	in                string // words before a span of time: in 3 days
	spans             string // "word=days"
	today             string // "word=days"
	wordsOf           string // what lengths are counted in
	top, site         string
	pronouns          string
	stops             string // words that end a topic
	compoundedNumbers bool
}

// Languages lists the languages whose numbers, dates and small words are known.
func Languages() []string { return []string{"de", "en", "es", "fr"} }

var languages = map[string]language{
	"en": {
		units: "zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 thirteen=13 fourteen=14 " +
			"fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 thirty=30 forty=40 fourty=40 fifty=50 sixty=60 seventy=70 " +
			"eighty=80 ninety=90 dozen=12",
		scales: "hundred=100 thousand=1000 million=1000000 millions=1000000 billion=1000000000", links: "and",
		months: "january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sep/sept october/oct november/nov december/dec",
		days:   "monday/mon tuesday/tue wednesday/wed thursday/thu friday/fri saturday/sat sunday/sun",
		about:  "about on for regarding concerning around re", articles: "the a an our my your this that these some any",
		negations: "not don't dont never no doesn't cannot can't without stop avoid", most: "under below most max maximum upto to than within exceeding over limit only",
		budget: "budget cost costs price spend spending pay fee rate", deadline: "by before until till due deadline on", in: "in within",
		spans: "day=1 days=1 week=7 weeks=7 month=30 months=30 year=365 years=365", today: "today=0 tomorrow=1",
		wordsOf: "word words", top: "top first best", site: "site sites website domain domains host hosts", pronouns: "me us you it them him her",
		stops: "with under below by before until in at from using within and then please but costing budget max maximum",
	},
	"de": {
		units:  "null=0 ein=1 eine=1 einen=1 einem=1 einer=1 eins=1 zwei=2 drei=3 vier=4 funf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwolf=12 dutzend=12",
		scales: "hundert=100 tausend=1000 million=1000000 millionen=1000000 milliarde=1000000000 milliarden=1000000000", links: "und",
		months: "januar/janner/jan februar/feb marz/mar april/apr mai juni/jun juli/jul august/aug september/sep oktober/okt november/nov dezember/dez",
		days:   "montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag",
		about:  "uber zu zum zur fur bezuglich betreffend", articles: "der die das den dem des ein eine einen einem einer unser unsere mein meine",
		negations: "nicht kein keine keinen keinem nie niemals ohne", most: "unter hochstens maximal max maximum bis weniger nur",
		budget: "budget kosten preis ausgeben zahlen honorar", deadline: "bis vor spatestens am zum", in: "in innerhalb binnen",
		spans: "tag=1 tage=1 tagen=1 woche=7 wochen=7 monat=30 monate=30 monaten=30 jahr=365 jahre=365 jahren=365", today: "heute=0 morgen=1 ubermorgen=2",
		wordsOf: "wort worte worter wortern worten", top: "top erste ersten beste besten", site: "seite webseite website domain domane host",
		pronouns: "mich mir uns dich dir es sie ihn", stops: "mit unter bis vor in im am aus und dann bitte aber maximal hochstens budget", compoundedNumbers: true,
	},
	"es": {
		units: "cero=0 un=1 uno=1 una=1 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 doce=12 trece=13 catorce=14 quince=15 " +
			"dieciseis=16 diecisiete=17 dieciocho=18 diecinueve=19 veinte=20 veintiuno=21 veintidos=22 veintitres=23 veinticuatro=24 veinticinco=25 veintiseis=26 " +
			"veintisiete=27 veintiocho=28 veintinueve=29 treinta=30 cuarenta=40 cincuenta=50 sesenta=60 setenta=70 ochenta=80 noventa=90 cien=100 ciento=100 " +
			"doscientos=200 trescientos=300 cuatrocientos=400 quinientos=500 seiscientos=600 setecientos=700 ochocientos=800 novecientos=900 docena=12",
		scales: "mil=1000 millon=1000000 millones=1000000", links: "y",
		months: "enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre",
		days:   "lunes martes miercoles jueves viernes sabado domingo",
		about:  "sobre para acerca_de respecto_a en_cuanto_a", articles: "el la los las un una unos unas nuestro nuestra mi",
		negations: "no nunca jamas sin tampoco", most: "menos maximo como hasta debajo solo", budget: "presupuesto coste costo precio gastar pagar",
		deadline: "antes hasta para el", in: "en dentro_de", spans: "dia=1 dias=1 semana=7 semanas=7 mes=30 meses=30 ano=365 anos=365", today: "hoy=0 manana=1",
		wordsOf: "palabra palabras", top: "primeros primeras mejores top", site: "sitio web dominio", pronouns: "mi nosotros ti usted ello",
		stops: "con por menos hasta antes en y luego pero presupuesto maximo como",
	},
	"fr": {
		units: "zero=0 un=1 une=1 deux=2 trois=3 quatre=4 cinq=5 six=6 sept=7 huit=8 neuf=9 dix=10 onze=11 douze=12 treize=13 quatorze=14 quinze=15 seize=16 " +
			"vingt=20 vingts=20 trente=30 quarante=40 cinquante=50 soixante=60 septante=70 huitante=80 nonante=90 douzaine=12",
		scales: "cent=100 cents=100 mille=1000 million=1000000 millions=1000000", links: "et",
		months: "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
		days:   "lundi mardi mercredi jeudi vendredi samedi dimanche",
		about:  "sur pour concernant a_propos_de au_sujet_de", articles: "le la les un une des notre nos mon ma l'",
		negations: "ne n' pas jamais aucun aucune sans", most: "moins maximum max plus jusqu'a sous seulement", budget: "budget cout prix depenser payer tarif",
		deadline: "avant d'ici jusqu'au pour le", in: "dans sous", spans: "jour=1 jours=1 semaine=7 semaines=7 mois=30 an=365 ans=365", today: "aujourd'hui=0 demain=1",
		wordsOf: "mot mots", top: "premiers premieres meilleurs top", site: "site domaine", pronouns: "moi nous toi vous lui",
		stops: "avec sous avant d'ici dans et puis mais budget maximum au",
	},
}

// germanParts are the parts of a German number that is one word, the longest first.
var germanParts = func() []numberPart {
	list := []numberPart{
		{"million", 1_000_000, true}, {"tausend", 1000, true}, {"hundert", 100, true},
		{"zwanzig", 20, false}, {"dreissig", 30, false}, {"vierzig", 40, false}, {"funfzig", 50, false}, {"sechzig", 60, false}, {"siebzig", 70, false},
		{"achtzig", 80, false}, {"neunzig", 90, false}, {"sechzehn", 16, false}, {"siebzehn", 17, false}, {"dreizehn", 13, false}, {"vierzehn", 14, false},
		{"funfzehn", 15, false}, {"achtzehn", 18, false}, {"neunzehn", 19, false}, {"zwolf", 12, false}, {"zehn", 10, false}, {"elf", 11, false},
		{"eins", 1, false}, {"ein", 1, false}, {"zwei", 2, false}, {"drei", 3, false}, {"vier", 4, false}, {"funf", 5, false}, {"sechs", 6, false},
		{"sieben", 7, false}, {"acht", 8, false}, {"neun", 9, false}, {"und", 0, false},
	}
	slices.SortStableFunc(list, func(a, b numberPart) int { return len(b.text) - len(a.text) })
	return list
}()

// numberPart is a part of a number that is one word.
type numberPart struct {
	text    string
	value   int64
	isScale bool
}

// readGerman reads a German number that is one word: zweitausendfunfhundert, dreiundzwanzig.
func readGerman(s string) (int64, bool) {
	total, group := int64(0), int64(0)
	for s != "" {
		i := slices.IndexFunc(germanParts, func(p numberPart) bool { return strings.HasPrefix(s, p.text) })
		if i < 0 {
			return 0, false
		}
		p := germanParts[i]
		s = s[len(p.text):]
		switch {
		case p.isScale && p.value == 100:
			group = max(group, 1) * 100
		case p.isScale:
			total, group = total+max(group, 1)*p.value, 0
		default:
			group += p.value
		}
	}
	return total + group, total+group > 0
}
