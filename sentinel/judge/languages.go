package judge

import (
	"math/bits"
	"strings"
	"unicode"
)

// language is one besides English of which the common words are known: enough
// to tell what is asked for and in which field. Its words are matched as they
// stand, folded, for the endings of English are not theirs.
type language struct {
	function map[string]bool
	says     map[string]verb
	about    map[string]concept
	stems    stems
}

// stems are the beginnings of a language's common words: the endings that follow are
// those of its verbs and nouns, and of pronouns that are written onto them.
type stems struct {
	says  map[string]verb
	about map[string]concept
}

const (
	maxEnding = 12 // bytes that may follow a stem
	minStem   = 4  // letters of a stem that anything may follow; of other scripts than Latin three
)

// meaningOf returns what a folded word asks for and what it is about.
func (l *language) meaningOf(w string) (says verb, about concept) {
	says, about = l.meaningOfStem(w)
	if len(w) < 8 || says != 0 || about != 0 {
		return says, about
	}
	switch {
	case w[0] >= 0xD8 && w[0] <= 0xDB: // Arabic writes "and", "for" and "the" onto words
		w = trimAny(trimAny(w, "و", "ف"), "ال", "لل", "بال", "ل", "ب")
	case w[0] == 0xD7: // and so does Hebrew
		w = trimAny(w, "ה", "ו", "ב", "ל", "ש")
	default:
		return says, about
	}
	return l.meaningOfStem(w)
}

func trimAny(w string, prefixes ...string) string {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(w, p); ok && len(rest) >= minStem {
			return rest
		}
	}
	return w
}

func (l *language) meaningOfStem(w string) (verb, concept) {
	says, about := l.says[w]|l.stems.says[w], l.about[w]|l.stems.about[w]
	shortest := minStem
	if w != "" && w[0] >= 0x80 {
		shortest = 6
	}
	for i := len(w) - 1; i >= shortest && len(w)-i <= maxEnding; i-- {
		says |= l.stems.says[w[:i]]
		about |= l.stems.about[w[:i]]
	}
	return says, about
}

// buildWordTable builds a table whose words are not stemmed.
func buildWordTable[V verb | concept](rows map[V]string) map[string]V {
	out := map[string]V{}
	for v, row := range rows {
		for w := range strings.FieldsSeq(foldText(row)) {
			out[w] |= v
		}
	}
	return out
}

// fields names the concepts that the languages have words for.
var fields = struct{ mail, calendar, money, file, web, task, note, person, order, hotel, travel, device, chat, code concept }{
	talkConcepts(), concepts[stemWord("calendar")], concepts[stemWord("bank")], concepts[stemWord("file")], concepts[stemWord("web")],
	concepts[stemWord("task")], concepts[stemWord("notebook")], concepts[stemWord("colleague")], concepts[stemWord("shop")],
	concepts[stemWord("hotel")], concepts[stemWord("flight")], concepts[stemWord("thermostat")], concepts[stemWord("slack")],
	concepts[stemWord("repository")],
}

// languages are in no order: the one with most words in a text is taken.
var languages = []language{
	{ // French
		stems: frenchStems,
		function: wordSet(`le la les un une des du de et pour avec sur dans mon ma mes moi est que qui ce cette au aux stp svp plait ne pas merci
			peux pouvez par votre ton ta tes nos notre sont quel quelle quels je tu il elle nous vous se sa son ses leur leurs lui
			y en deux trois aussi mais si deja encore tout tous toute toutes comme ou fais fait etre avoir quand donc puis celui
			celle ceux qu jusqu seulement bien lequel c l d n s j`),
		says: buildWordTable(map[verb]string{
			sends: "envoie envoyer envoyez envoies reponds repondre repondez ecris ecrire ecrivez " +
				"transmets transmettre transfere transferer previens prevenir informe informer previens dis",
			pays: "paie paye payer payez payes regle regler reglez vire virer verse verser rembourse " +
				"rembourser achete acheter achetez commande commander",
			creates: "cree creer creez ajoute ajouter ajoutez note noter redige rediger ecris ecrire enregistre " +
				"enregistrer planifie planifier programme programmer organise organiser prepare preparer fixe fixer mets prends bloque bloquer",
			modifies: "modifie modifier modifiez change changer deplace deplacer decale decaler reporte " +
				"reporter renomme renommer corrige corriger ajoute ajouter remplace remplacer mets enregistre",
			removes: "supprime supprimer supprimez efface effacer annule annuler annulez retire retirer enleve enlever archive archiver",
			books:   "reserve reserver reservez planifie planifier commande",
			invites: "invite inviter invitez ajoute ajouter",
			shares:  "partage partager partagez",
			posts:   "publie publier publiez poste poster",
			looks: "lis lire lisez cherche chercher cherchez trouve trouver trouvez montre montrer " +
				"montrez affiche afficher liste lister resume resumer verifie verifier combien quand quel quelle quels ou regarde",
			sends | invites: "convie convier",
		}),
		about: buildWordTable(map[concept]string{
			fields.mail:     "mail mails courriel courriels email emails message messages reponse boite",
			fields.calendar: "reunion reunions rendez rdv agenda calendrier evenement appel dejeuner entretien creneau",
			fields.money:    "facture factures virement paiement argent loyer compte solde euros salaire",
			fields.file:     "fichier fichiers dossier document documents rapport",
			fields.task:     "tache taches rappel", fields.note: "note notes", fields.person: "collegue collegues contact contacts equipe",
			fields.order: "commande commandes panier", fields.web: "site page lien",
		}),
	},
	{ // German
		stems: germanStems,
		function: wordSet(`der die das den dem ein eine einen einem einer und fur mit auf von zu zum zur im ist mein meine meinen meiner mir
			bitte uns unser unsere nicht dass ob wie wann uber vom kannst konnen ich du sie wir alle ihm ihr ihn es er dich dir
			dein deine sein seine dies diese dieser dieses dieselbe dasselbe aus bei nach noch aber auch nur wenn dann schon
			gestern morgen heute weil sich wird war sind hat habe hab zwei drei beiden dort ja nein ganz als am beim ins ans doch
			mal kein keine`),
		says: buildWordTable(map[verb]string{
			sends: "schick schicke schicken schickt sende senden sendet schreib schreibe schreiben antworte " +
				"antworten beantworte leite weiterleiten informiere informieren maile mailen sag sage benachrichtige",
			pays: "zahl zahle zahlen bezahl bezahle bezahlen uberweise uberweisen uberweis kaufe kauf " +
				"kaufen bestelle bestell bestellen erstatte erstatten",
			creates: "erstelle erstell erstellen lege anlegen leg schreib schreibe schreiben speichere " +
				"speichern notiere notier plane planen trage trag eintragen mach mache vereinbare vereinbaren setze blockiere blocke fuge",
			modifies: "andere ander andern aktualisiere aktualisieren verschiebe verschieben verschieb umbenennen " +
				"benenne ersetze ersetzen fuge korrigiere korrigieren bearbeite trage setze speichere",
			controls: "mach mache schalte aktiviere deaktiviere sperre entsperre erlaube gib",
			removes:  "losche losch loschen loscht entferne entfernen storniere stornieren kundige losche sag absagen archiviere entfern",
			books:    "buche buchen buch reserviere reservieren bestelle plane", invites: "lade einladen lad fuge",
			shares: "teile teilen teil gib", posts: "veroffentliche veroffentlichen poste posten",
			looks: "lies lesen suche suchen finde finden zeig zeige zeigen fasse zusammenfassen prufe prufen " +
				"liste welche welcher welches wieviel wann",
		}),
		about: buildWordTable(map[concept]string{
			fields.mail:     "mail mails e-mail email emails nachricht nachrichten postfach posteingang antwort",
			fields.calendar: "termin termine besprechung meeting meetings kalender treffen zahnarzttermine zahnarzttermin anruf mittagessen",
			fields.money:    "rechnung rechnungen zahlung uberweisung geld miete konto kontostand euro gehalt",
			fields.file:     "datei dateien ordner dokument dokumente bericht",
			fields.task:     "aufgabe aufgaben erinnerung", fields.note: "notiz notizen",
			fields.person: "kollege kollegin kollegen kontakt kontakte team", fields.order: "bestellung bestellungen warenkorb",
			fields.web: "seite webseite link",
		}),
	},
	{ // Spanish
		stems: spanishStems,
		function: wordSet(`el la los las un una unos para por con mi mis del al y de en que es lo su tu favor nos este esta como cuando cual
			sobre yo ella ellos ellas se le les me te si ya sin pero mas todo toda todos todas esto eso esa ese esos esas aquel
			fue ser hay dos tres tambien muy donde porque ha han he hasta desde entre quien otra otro cada`),
		says: buildWordTable(map[verb]string{
			sends: "envia enviar envie enviale manda mandar mande mandale responde responder escribe escribir " +
				"escribele reenvia reenviar avisa avisar informa informar dile contesta contestar",
			pays: "paga pagar pague transfiere transferir compra comprar compre reembolsa devuelve abona ingresa pide",
			creates: "crea crear cree anade anadir agrega agregar programa programar agenda agendar escribe " +
				"escribir guarda guardar anota apunta prepara organiza organizar pon bloquea reserva",
			modifies: "modifica modificar cambia cambiar actualiza actualizar mueve mover renombra reprograma " +
				"edita editar anade agrega sustituye corrige guarda pon aplaza",
			removes: "borra borrar borre elimina eliminar elimine cancela cancelar quita quitar anula anular archiva",
			books:   "reserva reservar programa agenda pide", invites: "invita invitar anade agrega",
			shares: "comparte compartir", posts: "publica publicar",
			looks: "lee leer busca buscar encuentra encontrar muestra mostrar muestrame lista resume resumir " +
				"revisa comprueba cuanto cuando cual cuales",
		}),
		about: buildWordTable(map[concept]string{
			fields.mail:     "correo correos mail email mensaje mensajes respuesta bandeja",
			fields.calendar: "reunion reuniones cita calendario evento llamada almuerzo comida",
			fields.money:    "factura facturas pago transferencia dinero alquiler cuenta saldo euros sueldo",
			fields.file:     "archivo archivos fichero carpeta documento documentos informe",
			fields.task:     "tarea tareas recordatorio", fields.note: "nota notas", fields.person: "colega companero contacto contactos equipo",
			fields.order: "pedido pedidos carrito", fields.web: "pagina sitio enlace web",
		}),
	},
	{ // Portuguese
		stems: portugueseStems,
		function: wordSet(`o a os um uma e com para meu minha meus minhas da dos das na nos ao que por favor em de sobre mim seu sua qual ` +
			`quando eu
			tu ele ela eles elas se lhe me te sim ja sem mas mais tudo todo toda todos todas isto isso essa esse aquele foi ser ha
			dois duas tres tambem muito onde porque ate desde quem outra outro cada so nao do pelo pela num numa mesmo mesma vez`),
		says: buildWordTable(map[verb]string{
			sends: "envie envia enviar mande manda mandar responda responde responder escreva escreve " +
				"escrever encaminhe encaminha encaminhar avise avisa informe diga",
			pays: "pague paga pagar transfira transfere transferir compre compra comprar reembolse deposite encomende",
			creates: "crie cria criar adicione adiciona adicionar agende agenda agendar marque marca marcar " +
				"escreva escreve salve salva salvar guarde anote programe prepare organize reserve bloqueie",
			modifies: "altere altera alterar mude muda mudar atualize atualiza atualizar mova move renomeie " +
				"edite edita adicione corrija remarque salve substitua adie",
			removes: "apague apaga apagar exclua exclui excluir elimine elimina remova remove remover cancele " +
				"cancela cancelar delete deletar arquive",
			books: "reserve reserva reservar marque agende", invites: "convide convida convidar adicione",
			shares: "compartilhe compartilha partilhe partilha", posts: "publique publica publicar poste",
			looks: "leia ler busque busca buscar procure procura encontre mostre mostra mostrar liste resuma " +
				"resume verifique quanto quando qual quais",
		}),
		about: buildWordTable(map[concept]string{
			fields.mail:     "mail email emails e-mail mensagem mensagens correio resposta",
			fields.calendar: "reuniao reunioes compromisso calendario agenda evento consulta almoco",
			fields.money:    "fatura faturas pagamento transferencia dinheiro aluguel renda conta saldo euros reais",
			fields.file:     "arquivo arquivos ficheiro ficheiros pasta documento documentos relatorio",
			fields.task:     "tarefa tarefas lembrete", fields.note: "nota notas", fields.person: "colega contato contatos equipe",
			fields.order: "pedido pedidos encomenda", fields.web: "pagina site link",
		}),
	},
	{ // Italian
		stems: italianStems,
		function: wordSet(`il lo la gli le un uno una per con mio mia miei mie del della dei delle al alla e di che da su mi ci favore sul nel
			nella questo questa sono quando quale io tu lui lei noi voi loro si ne ma se gia senza piu tutto tutta tutti tutte
			anche ancora quella quello quei quelle ha ho hai era due tre dove perche fino dal dalla dai dopo prima ogni solo come
			chi altra altro altri ai agli dell all sì l d c`),
		says: buildWordTable(map[verb]string{
			sends: "invia inviare invii manda mandare mandi rispondi rispondere scrivi scrivere inoltra " +
				"inoltrare avvisa avvisare informa spedisci",
			pays: "paga pagare paghi trasferisci trasferire bonifica versa compra comprare acquista rimborsa ordina",
			creates: "crea creare crei aggiungi aggiungere scrivi scrivere salva salvare pianifica programma " +
				"programmare organizza organizzare fissa fissare annota prepara prenota metti blocca segna",
			modifies: "modifica modificare cambia cambiare aggiorna aggiornare sposta spostare rinomina aggiungi " +
				"correggi sostituisci salva metti rimanda",
			removes: "cancella cancellare elimina eliminare rimuovi rimuovere annulla annullare togli archivia",
			books:   "prenota prenotare ordina fissa", invites: "invita invitare aggiungi", shares: "condividi condividere",
			posts: "pubblica pubblicare",
			looks: "leggi leggere cerca cercare trova trovare mostra mostrare mostrami elenca riassumi riassumere " +
				"controlla verifica quanto quando quale quali",
		}),
		about: buildWordTable(map[concept]string{
			fields.mail:     "mail email messaggio messaggi posta risposta",
			fields.calendar: "riunione riunioni appuntamento appuntamenti calendario evento chiamata pranzo",
			fields.money:    "fattura fatture pagamento bonifico soldi denaro affitto conto saldo euro stipendio",
			fields.file:     "file documento documenti cartella rapporto relazione",
			fields.task:     "compito attivita promemoria", fields.note: "nota note appunti",
			fields.person: "collega colleghi contatto contatti squadra", fields.order: "ordine ordini carrello", fields.web: "pagina sito link",
		}),
	},
	{ // Dutch
		stems: dutchStems,
		function: wordSet(`de het een en van voor met op mijn naar aan dat die graag alsjeblieft aub mij ons onze niet hoe wat wanneer kun kan
			jij je ik bij uit om hij zij ze we jullie hem haar hun dit deze dan ook nog maar als of er tot over onder geen wel al
			zo nee ja wacht was zijn heb heeft hebben twee drie weer door tegen alleen alles iets wie waar welke oude zelfde`),
		says: buildWordTable(map[verb]string{
			sends: "stuur sturen verstuur versturen verzend verzenden mail mailen schrijf schrijven antwoord " +
				"antwoorden beantwoord beantwoorden laat informeer bericht vertel",
			pays: "betaal betalen overmaken boek koop kopen bestel bestellen stort",
			creates: "maak maken voeg toevoegen schrijf schrijven bewaar bewaren plan plannen noteer noteren " +
				"zet organiseer regel blokkeer spreek sla",
			modifies: "wijzig wijzigen verander veranderen verplaats verplaatsen verzet hernoem bewerk pas aanpassen voeg vervang corrigeer zet sla",
			removes:  "verwijder verwijderen wis wissen annuleer annuleren zeg archiveer",
			books:    "boek boeken reserveer reserveren plan bestel", invites: "nodig uitnodigen voeg",
			shares: "deel delen geef", posts: "publiceer publiceren plaats plaatsen",
			looks: "lees lezen zoek zoeken vind vinden toon tonen laat bekijk vat samenvatten controleer hoeveel wanneer welke",
		}),
		about: buildWordTable(map[concept]string{
			fields.mail:     "mail mails e-mail email bericht berichten antwoord inbox",
			fields.calendar: "afspraak afspraken vergadering meeting agenda kalender lunch overleg",
			fields.money:    "factuur facturen rekening betaling overschrijving geld huur saldo euro salaris",
			fields.file:     "bestand bestanden map document documenten rapport",
			fields.task:     "taak taken herinnering", fields.note: "notitie notities", fields.person: "collega contact contacten team",
			fields.order: "bestelling bestellingen winkelwagen", fields.web: "pagina website link",
		}),
	},
	withSenses(polish, func(s sense) string { return s.pl }),
	withSenses(russian, func(s sense) string { return s.ru }),
	ukrainian, czech,
	withSenses(swedish, func(s sense) string { return s.sv }), withSenses(danish, func(s sense) string { return s.da }),
	withSenses(turkish, func(s sense) string { return s.tr }), romanian, finnish, hungarian, indonesian,
	vietnamese, greek, withSenses(arabic, func(s sense) string { return s.ar }), hebrew,
}

// languagesOf says of which languages a word is a function word, and of which it is
// another common word: a bit a language.
var languagesOf = func() map[string]struct{ function, content uint32 } {
	out := map[string]struct{ function, content uint32 }{}
	for i := range languages {
		bit, t := uint32(1)<<i, &languages[i]
		for w := range t.function {
			of := out[w]
			of.function |= bit
			out[w] = of
		}
		for w := range t.says {
			of := out[w]
			of.content |= bit
			out[w] = of
		}
		for w := range t.about {
			of := out[w]
			of.content |= bit
			out[w] = of
		}
	}
	return out
}()

// maxTerse is how many words a text has of which one tells the language.
const maxTerse = 4

// detectLanguage returns the language of a text that isn't English: the one with
// most words in it, where it has more of them than English has function words.
// Nil says nothing of which language it is.
func detectLanguage(list []token, english int, prose map[string]bool) *language {
	var hits, says [32]int
	for j, w := range list {
		of := languagesOf[w.word]
		if of.function|of.content == 0 || !prose[w.word] { // or a part of an address
			continue
		}
		known := saying[w.stem] != 0 && j > 0 || concepts[w.stem] != 0
		for set := of.function | of.content; set != 0; set &= set - 1 {
			i := bits.TrailingZeros32(set)
			if of.function&(1<<i) != 0 {
				hits[i]++
			}
			if of.content&(1<<i) != 0 && !known {
				hits[i]++
				says[i]++
			}
		}
	}
	best, most := -1, max(english, 0)
	for i := range languages {
		if hits[i] > most || best >= 0 && hits[i] == most && languages[i].countMeanings(list, prose) > languages[best].countMeanings(list,
			prose) {
			best, most = i, hits[i]
		}
	}
	if best < 0 || most == 1 && (len(list) > maxTerse || says[best] == 0 && (1+languages[best].countMeanings(list, prose))*2 <= len(list)) {
		return detectByStems(list, english, prose)
	}
	return &languages[best]
}

// countMeanings counts the words that mean something in the language.
func (l *language) countMeanings(list []token, prose map[string]bool) (n int) {
	for _, w := range list {
		if says, about := l.meaningOf(w.word); len(w.word) >= minStem && (says != 0 || about != 0) && prose[w.word] && saying[w.stem] == 0 {
			n++
		}
	}
	return n
}

// detectByStems returns the language that alone has most stems in a text without common
// words, if half of its words have one.
func detectByStems(list []token, english int, prose map[string]bool) *language {
	if english > 0 || len(list) > maxTerse*2 {
		return nil
	}
	var best *language
	most, twice := 0, false
	for i := range languages {
		n := languages[i].countMeanings(list, prose)
		if twice = n == most && (twice || n > 0); n > most {
			best, most, twice = &languages[i], n, false
		}
	}
	if twice || most*2 < len(list) {
		return nil
	}
	return best
}

// foreignAsks are what people ask for in languages of which nothing else is
// known here: enough to see that a request has asked for such a call, and never
// that it has not.
var foreignAsks = buildWordTable(map[verb]string{
	removes: foldText(`usun usuncie skasuj anuluj wyczysc удали удалить сотри отмени очисти видали скасуй
		sil iptal temizle ta radera slet slett smaz zrus
		احذف امسح ألغ מחק בטל हटा`),
	pays: foldText(`zapłać zapłac zaplac przelej opłać kup zamow oplac заплати оплати переведи ` +
		`купи закажи ode satin betala overfor kop kob betal zaplat كوب ادفع حول اشتر שלם העבר קנה`),
	sends: foldText(`wyslij napisz odpisz przekaz отправь напиши ответь перешли надішли gonder ` +
		`yaz ilet skicka skriv posli napis أرسل ارسل اكتب שלח כתוב`),
	modifies: foldText(`zmien ustaw przenies измени смени поменяй перенеси обнови degistir guncelle ` +
		`andra uppdatera endre zmen غير عدل שנה עדכן`),
	books:             foldText(`zarezerwuj забронируй закажи rezerve ayirt boka bestil rezervuj احجز הזמן`),
	controls:          foldText(`wylacz wlacz odblokuj выключи отключи включи открой разреши kapat ac stang oppna vypni أغلق افتح כבה פתח`),
	shares:            foldText(`udostepnij поделись paylas dela del sdilej شارك שתף`),
	invites | creates: foldText(`zapros dodaj пригласи добавь создай davet ekle bjud lagg legg pridej أضف הוסף`),
})

// unspacedAsks are parts that ask, in scripts that put no blanks between words.
var unspacedAsks = addSenses(buildWordTable(map[verb]string{
	removes:  `删 取消 清空 注销 हटा मिटा रद्द 去掉 撤销 退订 削除 消して 消去 キャンセル 取り消 やめて 外して 삭제 취소 지워 제거`,
	pays:     `买 付 转账 购 订购 下单 支付 भुगतान खरीद चुका 充值 续费 退款 退还 汇款 报销 支払 払って 払い 振り込 振込 送金 買って 買い 購入 注文 取り寄せ 返金 결제 송금 구매 주문 이체 사줘 환불`,
	sends:    `发送 发给 发邮件 回复 转发 告诉 भेज लिख जवाब बता सूचित 通知 联系 提醒 寄 答复 送って 送信 メールして 返信 返事 伝えて 知らせ 連絡 転送 書いて 보내 답장 전달 알려줘`,
	modifies: `修改 更改 更新 改成 改到 改为 बदल अपडेट 推迟 提前 移到 设为 换成 调整 延长 変更 変えて 更新 直して ずらして 移して 入れて 入れておいて 延期 にして 修正 변경 바꿔 옮겨 수정`,
	creates:  `创建 新建 添加 写 बना जोड़ सहेज 记录 记下 安排 生成 保存 加到 加入 作って 作成 追加 登録 書いて メモ 入れて 保存 만들 추가 작성 등록 저장`,
	books:    `बुक आरक्षित 预订 预定 预约 订 予約 取って 押さえて 예약`,
	controls: `चालू बंद खोल 关闭 打开 开启 关掉 解锁 锁上 启用 停用 调到 オフ オン 無効 有効 つけて 消して 開けて 閉めて 止めて 꺼 켜 열어 잠가`,
	shares:   `साझा 分享 共享 授权 共有 공유`, invites: `邀请 拉进 加入 आमंत्रित 招待 誘って 초대`, posts: `发布 发到 公告 公開 投稿 게시`,
	runs:  `运行 执行 部署 安装 実行 デプロイ インストール 실행 설치`,
	looks: `दिखा ढूंढ पढ़ देख खोज कितन 查 看看 搜索 找 多少 几 什么 哪 列出 总结 显示 比较 导出 調べて 探して 見せて 教えて 確認 いくつ 何 どの 一覧 まとめて 찾아 보여 알려 몇 무엇 확인`,
}), func(s sense) string { return s.unspaced })

// unspacedAbout are parts that name a field, in the same scripts.
var unspacedAbout = buildWordTable(map[concept]string{
	fields.mail: `邮件 信件 收件 メール 受信 메일 이메일`, fields.calendar: `会议 日程 日历 约会 会議 予定 カレンダー 打ち合わせ 회의 일정 캘린더`,
	fields.money: `发票 账单 转账 付款 工资 房租 账户 学费 请求书 請求 振込 家賃 口座 給料 송금 계좌 청구 월세`, fields.file: `文件 文档 文件夹 ファイル 書類 資料 フォルダ 파일 문서 폴더`,
	fields.task: `任务 待办 提醒 タスク リマインド 할 일`, fields.note: `笔记 メモ 메모`, fields.order: `订单 购物车 包裹 快递 注文 カート 荷物 주문 장바구니`,
	fields.hotel: `酒店 宾馆 房间 ホテル 宿 호텔 숙소`, fields.travel: `航班 机票 火车 车票 旅行 座位 飛行機 新幹線 電車 切符 座席 항공 기차 여행`,
	fields.device: `灯 空调 门锁 暖气 照明 電気 エアコン 鍵 ドア 조명 에어컨 문`, fields.chat: `频道 群 チャンネル 채널`,
})

// unspacedFunction are parts that any text in these scripts has some of.
var unspacedFunction = buildWordTable(map[verb]string{looks: `的 了 我 把 在 是 这 那 个 不 给 就 和 有 也 到 吧 吗 要 用 今 明
	の は を に が で も て た し と へ か な れ る さ ん का की के को में से पर है यह मुझे नहीं कर क्या 이 을 를 은 는 에 의 로 해 고 하 도 가 줘 요`})

// readUnspaced reads a text in a script that puts no blanks between words. It reports whether
// the text is in one that is known.
func readUnspaced(t *text) bool {
	if !hasUnspaced(t.fold) {
		return false
	}
	known := false
	for part := range unspacedFunction {
		known = known || strings.Contains(t.fold, part)
	}
	for part, v := range unspacedAsks {
		if strings.Contains(t.fold, part) {
			t.says |= v
		}
	}
	for part, c := range unspacedAbout {
		if strings.Contains(t.fold, part) {
			t.addConcept(c)
		}
	}
	return known
}

// hasUnspaced reports whether a fifth of a text's letters are of such a script. Devanagari is
// read so too: its vowels are no letters, and words are not told from each other.
func hasUnspaced(fold string) bool {
	if isASCII(fold) {
		return false
	}
	n, all := 0, 0
	for _, r := range fold {
		if unicode.IsLetter(r) {
			if all++; r >= 0x900 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Devanagari) {
				n++
			}
		}
	}
	return n*5 > all
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
