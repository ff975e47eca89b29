package judge

import (
	"maps"
	"strings"
)

// verb is a set of things that a request may ask for and a skill may do.
type verb uint16

const (
	sends verb = 1 << iota
	pays
	creates
	modifies
	removes
	books
	invites
	shares
	posts
	controls
	runs
	escalates
	decides
	looks

	anyChange = looks - 1
)

// concept is a set of fields that everyday words belong to.
type concept uint32

// buildStemTable builds a table from lines of words. The tables hold general English
// and are never changed.
func buildStemTable[V verb | concept](rows map[V]string) map[string]V {
	out := map[string]V{}
	for v, row := range rows {
		for w := range strings.FieldsSeq(row) {
			out[stemWord(w)] |= v
		}
	}
	return out
}

func wordSet(row string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(row) {
		out[w] = true
	}
	return out
}

func stemSet(row string) map[string]bool {
	out := map[string]bool{}
	for w := range maps.Keys(wordSet(row)) {
		out[stemWord(w)] = true
	}
	return out
}

// doing is what the words in a skill's name mean. The wider saying is which words of a person
// ask for it.
var (
	doing = buildStemTable(map[verb]string{
		sends: "send reply respond forward message notify email mail text sms dm contact alert tell draft compose write",
		pays:  "pay transfer wire buy purchase charge deposit withdraw refund donate checkout order return exchange",
		creates: "create add new insert append write draft compose save upload generate remember store " +
			"make record log note schedule register put",
		modifies:  "update modify change edit set reschedule rename move exchange replace adjust append add put mark patch reset manage",
		removes:   "delete remove cancel clear erase purge drop unsubscribe revoke archive kick ban block trash return leave quit",
		books:     "book reserve schedule rebook",
		invites:   "invite add",
		shares:    "share grant give",
		posts:     "post publish tweet",
		controls:  "grant unlock lock enable disable open close start stop activate deactivate turn switch",
		runs:      "run execute deploy install launch",
		escalates: "transfer escalate handoff",
		decides:   "respond rsvp",
		looks: `get list search find read show view check lookup look query fetch count describe retrieve summarize summarise
			calculate compute current status download analyze analyse`,
	})
	saying = buildStemTable(map[verb]string{
		sends: `send resend email mail message tell notify inform reply respond answer forward write contact text dm ping ask
			remind thank share say deliver pass announce invite congratulate alert communicate draft compose post
			apologize apologise confirm wish introduce`,
		pays: `pay repay transfer wire send refund reimburse settle buy purchase order donate tip return subscribe charge
			upgrade checkout exchange compensate replace modify change book cancel add top renew reorder refill restock collect debit`,
		creates: `create add make new set setup schedule book write draft save generate put plan prepare record remember note
			store remind open start build register upload compose log produce append arrange organize organise insert post invite
			enter renew reorder refill restock`,
		modifies: `update change modify edit set reset rename move reschedule adjust replace correct fix switch swap exchange
			upgrade downgrade increase decrease raise lower add remove postpone delay shift push extend apply mark turn
			append convert amend revise rewrite complete instead alter include close reopen merge assign label relabel point tidy
			note put write record save log stick pop jot chuck bung revert restore combine consolidate reassign
			enter mute snooze pause resume silence renew`,
		removes: `delete remove cancel erase clear drop trash unsubscribe clean purge discard kick revoke ban uninstall rid
			end stop terminate return undo throw block quit kill scrap ditch wipe delist archive`,
		books:   "book reserve reservation booking rebook order buy arrange schedule",
		invites: "invite add join include onboard bring",
		shares:  "share send give grant forward provide invite",
		posts:   "post publish upload tweet share put write announce send",
		controls: `grant give allow unlock lock open close enable disable turn start stop activate deactivate switch dim
			brighten arm disarm warm cool heat mute snooze pause resume silence`,
		runs:      "run execute deploy install start launch build test revert restore rollback",
		escalates: "transfer human agent representative escalate help support speak talk complain supervisor",
		decides:   decidingWords,
		looks: `show list find check what when where who which how why whose summarize summarise summary search look read get
			count compare recommend recommendation suggest analyze analyse review explain describe verify see know view
			display fetch lookup any calculate`,
	})
	// nounToo are names of things as often as they ask for something: they
	// count where a verb would stand.
	nounToo = wordSet(`email mail message text dm post note log record contact answer schedule order tip charge test help support
		talk end top book plan update transfer return exchange set list archive restore`)
	beforeVerb = wordSet(`please and then to also you can could would should must just or first next after finally want now kindly
		i we be will let help not it them`)
	// standingVerbs ask for these only where a verb stands: "close the ticket", and neither
	// "close to noon" nor "the label of the box".
	standingVerbs = buildStemTable(map[verb]string{
		modifies: `close merge assign label point tidy stick pop jot chuck bung revert restore combine consolidate reassign enter mute
			snooze pause resume silence renew reorder refill restock collect debit`,
		removes: "kill scrap wipe archive", controls: "warm cool heat arm mute snooze pause resume silence", decides: decidingWords,
		runs: "revert restore", pays: "renew reorder refill restock collect debit", creates: "enter reorder refill restock renew",
	})
	// decidingWords say yes or no to what somebody applied for.
	decidingWords = "approve reject accept decline deny refuse authorize authorise veto endorse"
	// toMe with "me" asks for an answer, not for a message to somebody.
	toMe = wordSet("tell give show send write let get ask find")
	// buying is asked for without a word for the shop.
	buying  = wordSet("buy purchase")
	asked   = wordSet("did do does have had has when")
	persons = wordSet("i we they he she you")
	// talking to somebody needs a way to do it, which people don't name.
	talking = stemSet("tell notify inform remind ask thank congratulate invite send forward reply respond ping")
	// everyday verbs say what is done and nothing about the field.
	everyday   = wordSet("add create make set update change modify delete remove edit send post write get put open close insert append")
	delegating = wordSet("do follow perform carry complete execute finish handle")
	delegated  = stemSet("task instruction action todo step item thing")
	// functionWords are English and rare as words elsewhere.
	functionWords = wordSet(`the my please what you your is are and of for this that with how from to it can could would there
		which they been have has does about some all`)

	// everydayWords are English and of other languages too.
	everydayWords = wordSet(`i me we us he him his she her they them their its was were am not but or so if as at by be been on in a an let
		get got put take make do did just don doesn it's yes no ok okay now then when where who why more most less only also again too one
		two three both each other same new old back up off out over down before after until next last here very any every much
		many`)

	concepts = buildStemTable(map[concept]string{
		1 << 0: "email mail inbox message reply e-mail gmail mailbox recipient sender draft unread attachment",
		1 << 1: `calendar event meeting appointment schedule agenda reminder invitation remind standup sync slot interview
			dentist`,
		1 << 2: `bank banking money payment pay transaction transfer account bill rent refund spend spending balance iban budget
			invoice salary subscription cash debt tip reimburse repay price fund funds deposit`,
		1 << 3: "file files fs path document doc drive folder spreadsheet pdf attachment directory report " +
			"presentation slide contract sheet workbook",
		1 << 4:  "slack channel dm message chat thread",
		1 << 5:  "web page website site url link article blog browser webpage internet online",
		1 << 6:  "hotel room stay accommodation lodging inn",
		1 << 7:  "restaurant dinner eat dining food cuisine",
		1 << 8:  "car rental vehicle drive rent",
		1 << 9:  "flight airline plane fly airport trip ticket cabin passenger baggage bag luggage reservation",
		1 << 10: "task todo reminder checklist remind",
		1 << 11: "memory remember recall forget",
		1 << 12: "password passphrase login credential sign-in",
		1 << 13: "information info detail profile address",
		1 << 14: "order purchase shop cart product item package shipment return exchange",
		1 << 15: "photo image picture",
		1 << 16: "device light thermostat lock door heating alarm camera",
		1 << 17: "code repository repo branch commit pull issue git github",
		1 << 18: "member people person everyone colleague contact participant guest attendee",
		1 << 19: "note notebook memo",
		1 << 20: "post tweet status timeline social",
		1 << 22: "role permission right privilege admin administrator owner ownership",
		1 << 21: "certificate voucher compensation gift credit coupon",
	})
	// fileEndings are those that a word of a request is a file name by.
	fileEndings = wordSet("txt md pdf doc docx odt rtf xls xlsx csv json yaml yml xml html png jpg jpeg gif zip tar gz log ppt pptx toml ini")
	// vague are words that say nothing about what a skill is for.
	vague = stemSet(`the a an of to in on for and or with by from given it its is are be as at that this all any if user users
		request tool tools agent name names information using use new current specified provided data item items id ids
		value list return returns their them they into such will can has have been was each more detail details own
		deploy utilize employ conduct ensure provide allow allows perform via about based system manager process service api`)
	// impersonal are the local parts of addresses that are no person's name.
	impersonal = wordSet(`info support admin contact sales team office mail email client security billing help hello noreply reply
		user service news account accounts payments finance it hr me my the root test file report customer manager`)
)
