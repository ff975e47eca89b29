package judge

import "strings"

// language is one besides English of which the common words are known: enough
// to tell what is asked for and in which field. Its words are matched as they
// stand, folded, for the endings of English are not theirs.
type language struct {
	function map[string]bool
	says     map[string]verb
	about    map[string]concept
}

// buildWordTable builds a table whose words are not stemmed.
func buildWordTable[V verb | concept](rows map[V]string) map[string]V {
	out := map[string]V{}
	for v, row := range rows {
		for w := range strings.FieldsSeq(row) {
			out[w] |= v
		}
	}
	return out
}

// fields names the concepts that the languages have words for.
var fields = struct{ mail, calendar, money, file, web, task, note, person, order concept }{
	talkConcepts(), concepts[stemWord("calendar")], concepts[stemWord("bank")], concepts[stemWord("file")], concepts[stemWord("web")],
	concepts[stemWord("task")], concepts[stemWord("notebook")], concepts[stemWord("colleague")], concepts[stemWord("shop")],
}

// languages are in no order: the one with most words in a text is taken.
var languages = []language{
	{ // French
		function: wordSet(`le la les un une des du de et pour avec sur dans mon ma mes moi est que qui ce cette ` +
			`au aux stp svp plait ne pas merci peux pouvez par votre ton ta tes nos notre sont quel quelle quels`),
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
		function: wordSet(`der die das den dem ein eine einen einem einer und fur mit auf von zu zum zur im ` +
			`ist mein meine meinen meiner mir bitte uns unser unsere nicht dass ob wie wann uber vom kannst konnen ich du sie wir alle`),
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
		function: wordSet(`el la los las un una unos para por con mi mis del al y de en que es lo su tu favor nos este esta como cuando cual ` +
			`sobre`),
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
		function: wordSet(`o os um uma e com para meu minha meus minhas da dos das na nos ao que por favor em de sobre mim seu sua qual quando`),
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
		function: wordSet(`il lo la gli le un uno una per con mio mia miei mie del della dei delle al alla e ` +
			`di che da su mi ci favore sul nel nella questo questa sono quando quale`),
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
		function: wordSet(`de het een en van voor met op mijn naar aan dat die graag alsjeblieft aub mij ons ` +
			`onze niet hoe wat wanneer kun kan jij je ik bij uit om`),
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
}

// detectLanguage returns the language of a text that isn't English: the one with
// most words in it, where it has more of them than English has function words.
// Nil says nothing of which language it is.
func detectLanguage(list []token, english int, prose map[string]bool) *language {
	var best *language
	most := english
	for i := range languages {
		t := &languages[i]
		n := 0
		for j, w := range list {
			if !prose[w.word] {
				continue // a part of an address
			}
			if t.function[w.word] {
				n++
			}
			if t.says[w.word] != 0 && (saying[w.stem] == 0 || j == 0) {
				n++
			}
			if t.about[w.word] != 0 && concepts[w.stem] == 0 {
				n++
			}
		}
		if n > most && n > 1 {
			best, most = t, n
		}
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
var unspacedAsks = func() map[string]verb {
	out := map[string]verb{}
	for v, row := range map[verb]string{
		removes: "删除 取消 清空 削除 消して 消去 キャンセル 삭제 취소", pays: "支付 付款 转账 购买 订购 支払 振り込 振込 送金 買って 購入 注文 결제 송금 구매 주문",
		sends: "发送 发给 发邮件 回复 转发 送って 送信 メールして 返信 보내", modifies: "修改 更改 更新 変更 変えて 변경", books: "预订 预定 予約 예약",
		controls: "关闭 打开 开启 オフ オン 無効 有効 꺼 켜", shares: "分享 共享 共有 공유", invites | creates: "邀请 添加 招待 追加 초대 추가",
	} {
		for w := range strings.FieldsSeq(row) {
			out[foldText(w)] |= v
		}
	}
	return out
}()
