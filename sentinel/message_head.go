package sentinel

import (
	"regexp"
	"strings"

	"github.com/vedette-dev/vedette/internal/runes"
)

// The heads of messages as mail and chat programs write them, in the languages that people
// write in. Lines are matched as foldLine returns them.
var (
	fromWords = foldAlternatives(`from|von|de|da|van|od|från|fra|lähettäjä|kimden|gönderen|от|від|absender|remitente|mittente|expéditeur|
		afzender|avsender|avsändare|afsender|nadawca|odesílatel|feladó|发件人|寄件者|寄件人|差出人|送信者|보낸 사람|보낸사람|من|מאת`)
	sentWords = foldAlternatives(`date|datum|data|fecha|dato|tarih|päiväys|dátum|дата|日期|日時|发送时间|날짜|sent|gesendet|envoyé|enviado|enviado el|
		inviato|
		verzonden|skickat|sendt|wysłano|odesláno|lähetetty|gönderildi|отправлено|надіслано|보낸 날짜`)
	otherHeadWords = foldAlternatives(`subject|betreff|objet|asunto|assunto|oggetto|onderwerp|ämne|emne|temat|předmět|aihe|konu|тема|主题|主旨|` +
		`件名|제목|
		to|an|à|a|para|aan|till|til|do|komu|kime|vastaanottaja|кому|收件人|宛先|받는 사람|cc|bcc|kopie|kopia|copie|copia|копия|reply-to|antwort an`)
	forwardedWords = foldAlternatives(`forwarded|original|weitergeleitet|ursprüngliche|transféré|reenviado|encaminhad|inoltrat|doorgestuurd|
		oorspronkelijk|przekazan|vidarebefordra|ursprungligt|videresend|oprindelig|opprinnelig|přeposlan|původní|iletilen|välitetty|
		пересылаем|пересланн|исходн|原始邮件|转发|轉寄|転送|원본|전달`)
	beginWords = foldAlternatives(`begin forwarded message|anfang der weitergeleiteten|début du message|inicio del mensaje|início da mensagem|
		inizio messaggio|begin doorgestuurd|start of forwarded|början på vidarebefordrat|начало переадресованного`)
	wroteWords = foldAlternatives(`wrote|writes|schrieb|a écrit|escribió|escreveu|ha ` +
		`scritto|schreef|napisał|napisała|napisał(a)|napsal|napsala|
		skrev|
		kirjoitti|yazdı|написал|написала|написав|пише|пишет|írta`)
	onWords = foldAlternatives(`on|am|le|el|op|il|em|den|dnia|w dniu|dne|pa`)

	forwarded = regexp.MustCompile(`^[\s*_"'“„«(|]*(?:(?:` + fromWords + `)\s*\*{0,2}\s*:` +
		`|(?:fwd?|wg|tr|rv|enc|doorst|i|vb|vl|vs|fs|pd|ilt)\s*:` +
		`|-{2,}.{0,20}(?:` + forwardedWords + `)` +
		`|(?:` + beginWords + `)` +
		`|<\s*blockquote)`)
	sentHead = regexp.MustCompile(`^[\s*_|]*(?:` + sentWords + `|` + fromWords + `)\s*\*{0,2}\s*:`)
	anyHead  = regexp.MustCompile(`^[\s*_|]*(?:` + sentWords + `|` + fromWords + `|` + otherHeadWords + `)\s*\*{0,2}\s*:`)
	// attribution is "On Monday Kim wrote:", and datedBy the same in any language.
	attribution = regexp.MustCompile(`^.{0,200}(?:^|[\s,(])(?:` + wroteWords + `)(?:[\s<(].{0,120})?\s*:\s*$`)
	datedBy     = regexp.MustCompile(`\d.{0,120}<[^<>\s]{1,80}@[^<>\s]{1,80}>.{0,24}:\s*$`)
	onDate      = regexp.MustCompile(`^\s*(?:` + onWords + `)[\s,].{0,80}\d`)
	// chatLine is "[03.05.26, 10:11] Kim: …", "03/05/2026, 10:11 - Kim: …" or "Kim  10:32 AM".
	chatLine = regexp.MustCompile(`^\s*(?:\[[^\[\]]{0,24}\d{1,2}[:.]\d{2}[^\[\]]{0,12}\]\s?[^:\[\]]{1,40}:\s` +
		`|\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?\s\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:\s?[ap]\.?\s?m\.?)?\s-\s[^:]{1,40}:\s` +
		`|[^:\d]{2,40}\s{2,}\[?\d{1,2}:\d{2}\s?(?:[ap]m)?\]?\s*$` +
		`|[^:\d]{2,40}\s\[\d{1,2}:\d{2}\s?(?:[ap]m)?\]:?\s*$)`)
	// headInLine stands inside a line, as it is written.
	headInLine = regexp.MustCompile(`[\s"'“„«(]From:\s`)
	// fences open and close blocks that were pasted. Those of tildes begin a line.
	fences = regexp.MustCompile("`{3,}|(?m:^[ \\t]*~{3,})")
)

// foldAlternatives makes words alternatives of a pattern, folded as lines are.
func foldAlternatives(list string) string {
	var out []string
	for w := range strings.SplitSeq(list, "|") {
		out = append(out, regexp.QuoteMeta(strings.Join(strings.Fields(FoldText(w)), " ")))
	}
	return strings.Join(out, "|")
}

// foldLine is a line as heads are looked for in it: folded, and without signs that aren't shown.
func foldLine(line string) string {
	line = strings.Map(func(r rune) rune {
		if runes.IsInvisible(r) {
			return -1
		}
		return r
	}, line)
	return FoldText(line)
}

// findForwarded returns the index of the line from which on somebody else's message stands,
// or how many lines there are. What comes after can't be told from the message.
func findForwarded(plain []string) int {
	for i, line := range plain {
		if line == "" {
			continue
		}
		switch {
		case forwarded.MatchString(line), chatLine.MatchString(line), isReceivedHead(plain[i:]):
			return i
		case !strings.ContainsAny(line, ":<>") && !onDate.MatchString(line):
		case isAttribution(plain[i:]):
			return i
		}
	}
	return len(plain)
}

// isReceivedHead reports whether lines begin with the head of a message that was received: two
// heads or more, one of which says who wrote or when. A letter that the user dictates has
// "To" and "Subject" alone.
func isReceivedHead(plain []string) bool {
	received, n := false, 0
	for ; n < len(plain) && anyHead.MatchString(plain[n]); n++ {
		received = received || sentHead.MatchString(plain[n])
	}
	return received && n > 1
}

// isAttribution reports whether lines begin with one such as "On Monday Kim wrote:", which a
// mail program may have broken in three.
func isAttribution(plain []string) bool {
	if attribution.MatchString(plain[0]) || datedBy.MatchString(plain[0]) {
		return true
	}
	if !onDate.MatchString(plain[0]) {
		return false
	}
	joined := plain[0]
	for _, next := range plain[1:min(3, len(plain))] {
		joined += " " + strings.TrimSpace(next)
		if attribution.MatchString(joined) || datedBy.MatchString(joined) {
			return true
		}
	}
	return false
}
