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
//	recipient_met              -31…-35  only a stranger has them, and nothing speaks against that; see What speaks against a value
//	recipient_called           -31…-33  no text has them, and they are no address: the user or the skill calls them so
//	recipient_listed           -31…-35  a stranger had them first, and a trusted text has them, too
//	recipient_visited          -31…-35  a place that the agent read in, after it had read strangers
//	recipient_earlier          -20…-35  a trusted text of an earlier turn has them, or the agent read there then; see Earlier turns
//	recipient_described       -15…-20  the user said how to choose it: "each user", "the channel with the fewest members"
//	recipient_described_untrusted -20  and what was chosen from came from a stranger
//	host_unknown               -33  a change sent to such a host; -10 for a read
//	host_nowhere               -33  -10 for a read
//	host_untrusted             -35  -15 for a read: following links is what reading is
//	host_listed                -35  a stranger named it first, and a trusted text has it, too
//	host_earlier               -33, -35  a trusted text of an earlier turn has it
//	target_unknown             -10  other x-target values (a payment method, a postal address)
//	target_nowhere             -15
//	target_untrusted           -20
//	target_named                -5…-10
//	target_named_untrusted     -10…-15
//	target_listed              -31  a target that strangers alone name, of a call that can't be undone or costs money, as ref_listed
//	target_earlier             -31  and a trusted text of an earlier turn has it
//	ref_listed                 -31  a path or id that strangers alone name, where ref_untrusted costs that much, and nothing
//	                                speaks against it, or a trusted text has it, too; see What speaks against a value
//	ref_earlier                -31  and a trusted text of an earlier turn has it
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
//	met_address_in_content -35  the same, where strangers' results have all of them and nothing speaks against one
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
//	wordless_request, met_address_in_content, recipient_met, recipient_called, recipient_listed,
//	recipient_visited, recipient_earlier,
//	host_listed, host_earlier, target_listed, target_earlier, ref_listed, ref_earlier, asked_into_trusted_store, rival_fits_better,
//	repeated_call, spent_over_limit, over_earlier_limit
//	unreadable_request
//	             in a turn that read no strangers' text
//	unrelated    in a turn that read no strangers' text; of calls that reach others, can't be undone, cost, open or run
//	             something, or go on by themselves only where something was read before, the request doesn't only look, and
//	             no stranger's text asks for such a call; and in any turn of a call that runs what it is given, where
//	             that only reads, or where the request names the target and asks for a change
//	look_only    in such a turn, and where the user hands over somebody's list, unless the call
//	             can't be undone or costs money
//	private_read where the request has no known word for any field
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
// (wordless_request). Where it isn't, nothing can be read (unreadable_request): the sign is in doubt, and in a turn that read
// strangers' text a person is asked, in a tainted branch about every call that reaches others, too. What a shell is given to run
// has no word of its own: outside a tainted branch it has neither sign.
//
// # What speaks against a value
//
// An injected call is one that a text asks for, and not one whose value a text has. So a value that no
// one who may be believed wrote is a verdict (recipient_nowhere, recipient_untrusted, ref_untrusted, target_untrusted) only where
// something speaks against it. All else is a doubt and costs the same: where a value stands the
// evidence shows, and whether the user means that one a reader can tell. Nothing grounds a value so.
// Values that cost less than 31 stay what they are.
//
// Known values come first. A trusted text that was read has the value and something beside it, and no argument
// took it there: recipient_listed, recipient_earlier, ref_listed. Or the agent read there: recipient_visited. Of JSON
// a note, a reference, an address as a name, what its subject writes, and a guest's record say nothing. Known
// values are doubts, unless a sentence that speaks to a model has them.
//
// What no text has is a verdict where it can't be a word of the user's or the skill's own:
//
//	an address        of mail, a page, a phone, an account; not a phone's number that the user wrote without its country
//	who is paid       where the skill works on money, or is let in; not where the user said a word of the name
//	who is reached    by a call that the request doesn't ask for; the same
//
// So "home", a channel, a door, a segment and a first name are doubts (recipient_called).
//
// A page to which something is sent is a verdict, unless it is known.
//
// What strangers alone have is a verdict where one of these holds, by what is at stake:
//
//	any value         the sentence that has it asks: by a word for what the call does or one that asks for anything
//	                  ("please", "must", "请"), not where the value heads its line, as records and speakers do;
//	                  a result that speaks to a model has it, in a listing its own record; the user pasted it;
//	                  it is a near miss, a slip of a long word of the user's, or has a rival; its subject wrote it of himself;
//	                  a guest's record has it; it is hidden in the text that has it
//	a thing           the user named another id of its shape
//	who is reached    the request asks for something else, or only asks; they get a copy; another whom a stranger doesn't
//	                  have is reached as well; the user wrote another address, or the name of another who was met; it is a
//	                  read that delivers
//	who is let in     the same; the request has no word for the right; or names no text of the kind that has them
//	who is paid       always, unless the user said the last digits of the account. So is an account under any argument, and
//	                  who gets what goes on by itself: a rule, a webhook
//
// What strangers of earlier turns have is no verdict for what their sentences ask, where this turn read no stranger and the user's words
// ask for the call: they have seen it. It is where a sentence asks before it names somebody, or what can't be undone.
//
// An address in a text that goes out is a verdict (address_in_content) unless strangers' results have it and none of the first
// two rows holds: met_address_in_content. An account is, and a page of this turn.
//
// A thing is what isn't somebody by its look or its argument's name: a channel, an offer, a branch, a door.
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
//	place        a channel or a repository that the agent read in before it read any stranger
//
// The id of a record that a call answers, a time, a path under "to" and "original payment" name
// no receiver. A domain of Options.OwnDomains vouches where the user named the owner.
//
// # Earlier turns
//
// What earlier turns brought grounds nothing. A value that stands in an untrusted result of
// one is a stranger's in this turn, too, unless this turn's trusted results have it. Where a
// trusted text of an earlier turn has the value, and no argument took it there, it is in doubt. So is a place that
// the agent read in then and no stranger names. A recipient costs 20 at most where the user's own words,
// of this turn or an earlier one, share a word with his entry and no stranger has him. What is paid again and again,
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
// what nowhere costs, and that at least what unknown costs. Nor do they raise what the rules alone let through.
// One verdict they may make a doubt: that somebody is nowhere, where a stranger's text has them. A reader is told that it
// has.
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
