package flow

import "strings"

// commonWords say nothing by themselves: of a passage made of them nothing is private.
var commonWords = wordSet(`the and for with from that this have has had not are was were will would can could should shall may might must
	you your yours our ours his her hers its their them they she him who whom whose which what when where why how all any some each every
	please thanks thank dear kind best regards sincerely hello hi hey good morning afternoon evening let know question questions feel free
	contact reply answer email mail message attached find below above about into onto over under after before again more most other than
	then there here just only also very much many one two three four five six seven eight nine ten first second last next new old see
	der die das und den dem des ein eine einer eines einem einen
	 ist sind war mit von für fur auf aus bei nach vor zum zur ich sie wir ihr
	ihre ihren ihnen unser unsere mein meine nicht auch oder wenn dass bitte danke vielen dank gruß gruss grüße grusse gruße freundlichen
	freundliche liebe lieber sehr geehrte geehrter hallo guten tag herr frau noch nur schon wird werden haben hat kann können konnen
	le la les un une des du de et ou est sont avec pour dans sur par pas que qui vous nous votre vos notre nos bonjour merci cordialement
	bien monsieur madame salutations el los las una unos del con por para en es son su sus nuestro nuestra usted ustedes hola gracias
	saludos cordiales estimado estimada o os as um uma do da dos das com na no em seu sua obrigado obrigada caro cara atenciosamente il lo
	gli uno di che non per sono suo sua grazie cordiali saluti gentile het een en van met voor niet zijn wij jij uw ons onze dank groet
	groeten vriendelijke beste`)

// fileEndings are those of files whose names are shared as names are.
var fileEndings = wordSet(`pdf doc docx xls xlsx ppt pptx txt csv md odt ods png jpg jpeg gif heic mp3 mp4 mov zip ics eml html xml json
	yaml yml go py js ts sh sql log`)

// spelled are the words of the alphabet of pilots and of digits, with what they stand for.
var spelled = func() map[string]string {
	out := map[string]string{}
	for i, w := range strings.Fields(`alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec
		romeo sierra tango uniform victor whiskey xray yankee zulu`) {
		out[w] = string(rune('a' + i))
	}
	for i, w := range strings.Fields("zero one two three four five six seven eight nine") {
		out[w] = string(rune('0' + i))
	}
	out["alfa"], out["juliett"], out["whisky"] = "a", "j", "w"
	return out
}()

func wordSet(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}
