// Package judge is the graded gate: it scores a call from a closed list of
// named signals and compares the score with two thresholds. It is
// deterministic, asks no model and takes microseconds.
//
//	gate, err := judge.New(judge.Options{}) // deny below 0.30, ask below 0.50
//
// The package isn't stable: docs/api.md lists those that are.
//
// Scores are integers in hundredths, 0 to 100: sums of decimal fractions would
// depend on the order in which they are added. A call starts at Base; each
// signal adds its amount; the sum is clamped. Every verdict carries its score,
// the thresholds it was held to and every signal with its amount and the
// declared arguments it was seen in, never a value, so that a person can check
// the sum by hand.
//
// The judge is lenient by design: what must never happen is the guard's, which
// knows no score. One bad sign asks a person; a denial takes several that don't
// depend on each other. Don't use it as the only gate: a call that follows from
// the request, goes to whom the user named and has bad content gets through.
//
// # Signals
//
// The first four are all that there is with Options.SeedOnly.
//
//	intent_mention     +10  the request has a part of the skill's name
//	read_only           +5  the skill only reads: nothing to undo
//	traversal          -20  a string climbs out of a folder with ".."
//	odd_key            -10  a key that no sane schema would declare
//
// How a change has to do with the request; one of these at most, and none
// where there is no request or none of it is in a known language:
//
//	unrelated          -40  neither what it does nor what it does it to is spoken of: the mark of an injected call
//	look_only          -35  the request only asks to look
//	other_action       -35  the field is spoken of, but another thing was asked for
//	other_topic        -35  the action is spoken of, but in another field
//
// Words of a request that only assent ("yes, do it") have the request before them, too. So do
// those that only point back ("the same for the others"), where that one asked for a change.
// Of words that name no field ("send it to her") the request before names it. Where the schema
// requires a target, a word of the user's in the trusted record under each target names it, too. What
// somebody applied for may be of any field: "approve the two".
//
// Grounding: for each family the value with the worst origin counts once. A
// value is grounded in the user's own words, of this turn or an earlier one, as
// sentinel.OwnWords and sentinel.Grant.EarlierWords have them, in trusted output, or in a mission
// written before the branch was tainted, as long as no stranger wrote the value
// too: a mission is a model's word. "unknown" is nowhere without a
// history to look in; it isn't used where there is no request. Reads are only
// held to the hosts of their URLs, and marked content, secrets and command
// lines to none of this.
//
//	recipient_unknown          -33  no trusted text names who is reached, paid or let in
//	recipient_nowhere          -33  the same with a history: it came from the model
//	recipient_untrusted        -35  only a stranger named them
//	recipient_named            -5…-33  the user wrote the owner's name and not the address; see Names
//	recipient_named_untrusted -10…-34  and the address came from a stranger
//	recipient_listed           -31  a stranger had them first, and a trusted record has them by itself; see Recipients
//	recipient_visited          -31  a place that the agent read in, after it had read strangers
//	recipient_earlier    -5…-35  the cost of the origin, or -10 at most; a trusted record of an earlier turn has them; see Earlier turns
//	recipient_author     -10…-35  only a stranger named them: as the author of what the agent read; see Authors
//	recipient_described       -15…-20  the user said how to choose it: "each user", "the channel with the fewest members"
//	recipient_described_untrusted -20  and what was chosen from came from a stranger
//	host_unknown               -33  a change sent to such a host; -10 for a read
//	host_nowhere               -33  -10 for a read
//	host_untrusted             -35  -15 for a read: following links is what reading is
//	target_unknown             -10  other x-target values (a payment method, a postal address)
//	target_nowhere             -15
//	target_untrusted           -20
//	target_named                -5…-10
//	target_named_untrusted     -10…-15
//	recipient_called     -33  a channel that is nowhere, and of whose name the user said a word; see Places
//	recipient_own        -33  a common word for a place or an account of the user's own, that is nowhere; see Places
//	recipient_thing      -33  a thing that is nowhere, and the target of a call that reaches others; see Places
//	recipient_assigned   -35  only a stranger named them: in a listing, as who did something; see Places
//	target_earlier       -5…-20  the cost of the origin; a trusted record of an earlier turn has it
//	ref_earlier                -31  a path or id that strangers named and a trusted record of an earlier turn has
//	ref_folder                 -31  a folder of a mailbox that strangers named; mail is put there, and reaches no one
//	amount_earlier             -15  an amount that strangers named and a trusted record of an earlier turn has
//	ref_listed                 -31  such an id that a listing or a trusted look-up returned as a record's own; see Ids of listings
//	amount_unknown              -5  amounts are computed as often as they are quoted
//	amount_nowhere             -10
//	amount_untrusted           -15
//	ref_nowhere                  0  ids and names of things: they come from look-ups, and are shown alone
//	ref_untrusted                0  the same; -31 where strangers alone name a path or an id in a call that reaches
//	                                others, and -31, as target_untrusted too, where they name the target of a call that
//	                                can't be undone or costs money
//
// What stands in the arguments:
//
//	near_miss          -30  a recipient or host is one character, or a look-alike letter, from one in the request
//	amount_exceeds     -10  more than the request asks for: a little more, or where its numbers are no plain sums of money;
//	                        -35 more than a tenth more; -55 three times as much and more, in a tainted branch
//	contradicts        -35  the request says in quotation marks what this argument shall be, and it is something else
//	other_date         -31  it begins on a day that is none of those in the request, which counts no days itself;
//	                        -10 where the call isn't in the request anyhow
//	private_read       -30  a read of passwords, payment methods, patients, places or histories that the request doesn't speak of
//	address_in_content -35  a link, address or account in what goes out to others that no trusted source wrote
//	secret_in_content  -20  what looks like a key, a password, a card's or an identity number in what goes out to others;
//	                        -35 where the request has no word for such
//	instruction_text   -20  text that addresses a model
//	encoded_blob       -10  a long run of base64 or hex
//	outside_roots      -15  a command writes or removes a named file outside of Options.Roots; not beside traversal, which is the same sign
//	everything         -31  it removes all there is ("*", all: true), and the request speaks of no "all"
//	other_file         -31  it removes a file, and the request, which it is in, names others
//	wider_rights       -31  it opens something to everybody, or makes somebody an owner, and the request speaks of neither;
//	                        it lets somebody change or pass on what the request lets them look at
//	other_id           -31  the target of a call that can't be undone or costs money isn't in the request, which names
//	                        another id of the same shape: T-24 for T-42, monthly-payout for weekly-report;
//	                        -31 together with what grounding takes for ids and targets
//	other_currency     -31  a currency that is none of those in the request
//	many_more          -31  three times and more as many things as any number in the request
//	data_in_url        -31  a stranger's page is asked for with something of other results in its address
//	unreadable_request -31  see Languages
//	wordless_request   -31  the same
//	over_limit         -35  more than the most that the request states: "at most 500", "under 20 euros";
//	                        of several limits that of what is paid: "under 500, and the deposit under 100"
//	over_earlier_limit -31  more than an earlier turn's request states as the most; or every price of the record under a target
//	                        is more than such a limit, or than one of this request
//	unasked            -15  a switch is turned on, or a right is given, for which the request has no word
//	unasked_right      -31  the same in an argument that its schema marks with x-right, or where the request forbids it:
//	                        "don't let him reshare"
//
// What a value almost is, as package sentinel/evidence finds it. The value was seen nowhere, or in
// what a stranger wrote. A near miss costs 35 together with what else is said of the same
// argument, and nothing of a call that reads:
//
//	near_miss_wrong_check_digits -35 an account or a routing number fails its check digits
//	near_miss_swapped  -35  two characters of an account, an address or an id stand in the other order
//	near_miss_edited   -35  one or two characters differ
//	near_miss_one_group -35 one group of an account differs
//	near_miss_same_ends -35 an account begins and ends like one that was seen
//	near_miss_lookalike -35 an address or a domain looks like one: 1 and l, rn and m, letters of another script
//	near_miss_other_suffix -35 the name of a domain below another suffix
//	near_miss_affix    -35  a known domain with a word added
//	near_miss_domain_inside -35 a known domain inside of another
//	near_miss_power_of_ten -35 an amount or a count times ten or a hundred
//	near_miss_number_word -35 fifteen for fifty
//	near_miss_beyond_limit -35 an amount beyond the most that the request states
//	near_miss_other_year -35 a day of the request in another year
//	near_miss_other_month -35 the same in another month
//	near_miss_day_and_month_swapped -35 the same with day and month swapped
//	rival_fits_better  -15  the record of another person shares more words with the request than the recipient's own
//	evidence_left_out  -31  a recipient, host or account has no room in the evidence that the reviewer is shown
//
// What goes out, and what goes where it will be believed. Package sentinel/flow compares:
//
//	sensitive_flow     -20  a call that leaves the process, also a read, carries private data or a secret of an earlier result;
//	                        -35 where the request doesn't speak of it, -50 where it is encoded, backwards or spelled;
//	                        together with secret_in_content what the greater costs
//	private_outward    -31  private data and strangers' text were read, and the request doesn't speak of what goes out;
//	                        or a secret was read of which the request doesn't speak, and a text goes out whose words are
//	                        mostly neither the request's nor a result's
//	into_trusted_store -31  strangers' text is written where it will be read as trusted, and the request doesn't speak of the
//	                        call, or the text speaks to a model
//
// What came before:
//
//	after_refusal      -10  the trace holds a refusal of this skill, whatever its arguments were
//
// Where the user hands over somebody's list ("do what the file says") and the
// call is therefore not in the request, ungrounded values add -5 a family at
// most, or stand alone where that costs more: they are the same sign. Where how the
// call has to do with the request is a doubt, what stands beside it keeps what it adds,
// and the doubt adds the rest.
//
// # Doubts
//
// What rules can't tell and a reader could is no verdict. These signals are doubts:
//
//	other_topic, other_action, amount_unknown, amount_nowhere, amount_exceeds of -10, unasked,
//	wordless_request, ref_listed, ref_earlier, ref_folder, recipient_listed, recipient_visited, recipient_earlier,
//	recipient_author, recipient_called, recipient_own, recipient_thing, recipient_assigned, target_earlier, amount_earlier,
//	asked_into_trusted_store, rival_fits_better,
//	repeated_call, spent_over_limit, over_earlier_limit
//	unreadable_request
//	             in a branch that read no strangers' text
//	unrelated    the same, of calls that stay inside, can be undone, cost nothing, open nothing, run nothing that they
//	             are given and go on by nothing; and in any branch of a call that runs what it is given on a target
//	             that the request names, where the request asks for a change
//	look_only    in such a branch, and where the user hands over somebody's list, unless the call
//	             can't be undone or costs money
//
// All other signals are hard: the outcome is theirs. intent_mention raises the recorded
// score and makes up for doubts alone. So does habit (Options.Habits), which is what the doubts
// took where the user had such calls approved on three days; a tainted call has none. The verdict's Doubt is what all signals together
// come to, where that is less than the outcome. A doubt asks; far below the threshold (0.15
// under it) it denies. What becomes of a doubt, sentinel.Doubt says: a model that judges the
// call with it settles it, and it counts wherever there was no such judgement.
//
// # Names
//
// "Write to John" names john@example.com, and john@anywhere.else too. So in a call
// that reaches others a name is enough only where the address has a domain that
// somebody who may be believed wrote, or that is the user's own, and at which not
// everybody can have an address. Otherwise a person is asked (-31 to -34), also
// where a look-up that isn't trusted returned the address: anybody can send a
// message from "John <john@anywhere.else>". An address book that only the user can
// write deserves an "output: trusted". A change that can be undone costs -20, which
// asks beside another sign alone, unless a stranger named the address. Without a
// history, a call that isn't in the request is asked about for that alone. In calls that
// stay inside, a name costs -5 to -25. An address in a result that speaks to a model is a
// stranger's, also beside a name of the user's.
//
// # Languages
//
// Requests are read in English, and by their most common words in 25 other languages:
// French, German, Spanish, Portuguese, Italian, Dutch, Polish, Russian, Ukrainian, Czech,
// Swedish, Danish and Norwegian, Turkish, Romanian, Finnish, Hungarian, Indonesian,
// Vietnamese, Greek, Arabic, Hebrew, Hindi, Chinese, Japanese and Korean. Verbs and nouns are
// known by their stems. How a call has to do with the request is said only where a word for
// an action and one for a field are known, or where the request only asks. Everything else
// is the same.
//
// A call that can't be undone, pays, removes, lets in or goes on working by itself has a sign
// where the request has no known word for it. Where the language is known that is in doubt
// (wordless_request). Where it isn't, nothing can be read (unreadable_request): the sign is in
// doubt, and in a tainted branch a person is asked, there about every call that reaches
// others, too. What a shell is given to run has no word of its own: outside a tainted branch
// it has neither sign.
//
// # Ids of listings
//
// A stranger writes titles and texts, and the skill writes the ids of its records. So an id that
// an untrusted result has alone is in doubt (ref_listed) where a skill of the same kind returned
// it as the id of a JSON record or at the head of its line, in this turn or an earlier one. The
// skill lists, finds or searches, or reads a talk. Where it reads one record, the call can be
// undone and costs nothing. No untrusted text names the id anywhere else, and the user named no
// other of its shape. All other ids stay a stranger's.
//
// Records stand in lines, or in one line with semicolons between them. Where a record's line has
// its id with a hyphen and more, once, that is one of its options. What speaks to a model in one
// record's line is an order about that record and about those that it names. An id is in doubt, too, where
// a trusted skill of the call's kind returned a record under it that says more than the id.
// A stranger's word beside it takes nothing away then, unless it speaks to a model.
//
// # Authors
//
// An answer goes to the person who wrote. So a recipient that strangers' texts have is in doubt where
// they have it as an author alone: before the colon of a line in a talk of the call's own domain,
// in the From of a mail whose answers go to the same address, or after the id in a list of mails.
// A copy, a later writer of a thread, an address that any text names, and a payment stay verdicts.
//
// That the user names the author makes nothing worse, unless results have another address of that
// name.
//
// # Places
//
// People say "the team" for #team-lantern. So a channel is in doubt where the user's own words have a
// word of its name: one that is nowhere, and one that a stranger named and the agent read. An account
// of the user's own is in doubt where they say its name, a trusted skill of the same domain read it,
// and money is moved and none is spent. A service that is called as a repository that the agent read
// in is that place. Who is assigned inside of the house is in doubt where listings of that kind
// alone have the name. An account that ends the line of money that went out was paid before.
//
// "Home" and "the office" are no addresses: the skill looks them up. Under an argument for deliveries such
// a word that is nowhere is in doubt. So is "savings", and an account in a trusted list of an earlier turn,
// where money is moved between accounts and none is paid. Where a language inflects names, so is a
// person of the house under a form of a name that the user wrote. So are a phone's number without its
// country and a postal address with other small words.
//
// Not each target of a call that reaches others is somebody. One that is nowhere is in doubt where neither
// its argument's name nor its look is that of who is reached: a door, a segment, where a ride ends.
//
// A read whose argument says where the result is brought ("deliver_to") reaches somebody.
//
// # Calls made before
//
// The same words don't ask for a call twice. So a payment of the same amount to the same
// receiver as one of this turn, and any other call that reaches others and has all that one of
// this turn had, are in doubt (repeated_call). What this turn has paid counts towards a limit that the request
// states: beyond it the next payment is in doubt (spent_over_limit), unless the limit is for each.
// Calls that failed don't count.
//
// # Shapes
//
// Who is reached shows in the shape of a value as well as in its argument's name:
// an account number with the right check digits, a phone's number with its
// country, "@name" and the address of a purse are recipients under any name, a
// page without a scheme is a host, and so are keys of objects that are addresses.
// Of "Kim <kim@x.test>" and of lists each address counts by itself. A skill
// without marks whose name says that it sends is held to what one is that reaches
// others. An address that the request says to leave out ("not to x@y.test") is in
// the words of no user.
//
// # Recipients
//
// Of what people leave unsaid a recipient resolves by one of these, which Gate.ResolveRecipients
// tells with the step that it stands on:
//
//	self         "me", "self", or the user's own name
//	participant  in a reply with the id of a message that the agent read and the user's words
//	             name: the one who wrote, where answers go to the same address; and in a longer
//	             thread those who were in it from the start. A copy, a later one and another
//	             address of the same name ask.
//	member       of a channel that the user named, where everyone of it is meant
//	place        a channel or a repository that the agent read in before it read any stranger
//	addressbook  a field for addresses in a named entry of a trusted record, which no argument
//	             took there and which the user's words name alone; fields that their subject
//	             writes and entries of guests say nothing
//
// The id of a record that a call answers, a time, a path under "to" and "original payment" name
// no receiver. A domain of Options.OwnDomains vouches where the user named the owner.
//
// # Earlier turns
//
// What earlier turns brought grounds nothing. A value that stands in an untrusted result of
// one is a stranger's in this turn, too, unless this turn's trusted results have it. Where a
// trusted record of an earlier turn has the value by itself, and no argument took it there, it is
// in doubt and costs the same. So is a place that the agent read in then and no result names. Where
// this turn read no strangers' text, and the call can be undone, costs nothing and removes nothing,
// either costs 10 at most. A recipient costs 20 at most where the user's own words, of this turn or
// an earlier one, share a word with his entry and no stranger has him. What is paid again and again,
// or goes on by itself, costs what it did.
//
// # Guests
//
// A guest chooses his own name. So where trusted records have whom a call reaches as a guest's alone,
// and no field of the directory's own there shares a word with the user's, the address is a stranger's.
// What stands within a guest's object is a guest's.
//
// # Echoes
//
// A trusted result grounds a value where it had it first. What an untrusted result or
// an argument of the agent had before, also that of a refused call or of another agent
// whose results came up, a skill only says again, and an agent could have anything
// said: sentinel.Trace.Attests tells, for this gate and for what is outward.
//
// # What must hold
//
// Adding an argument never raises a score, or a model could buy leniency with
// padding: a signal that raises may look at the skill, the grant and the trace,
// never at the arguments, and a family counts its worst value. Untrusted
// history and taint never raise one either: an untrusted origin costs at least
// what nowhere costs, and that at least what unknown costs. One thing of a stranger's counts:
// the sender in the head of the message that the user's words name, for an answer to it.
//
// # Tolerance
//
// Words match whatever their case, accents, plural or plain verb ending; dates
// as "May 26th" or 2024-05-26; amounts with separators of either kind, with a
// currency, in cents or in words ("1.000,50 €", "fifty dollars"); account
// numbers in groups; file names without folder and extension; hosts with or
// without "www."; "John" for john@example.com, within the bounds above. Look-alike letters of another
// script, one wrong digit, another domain or a longer name do not match.
package judge
