package config

// descriptions say of each key what it does, for the editor schemas and the reference.
// An entry is named after the struct and the key. The tags of a struct field hold the
// rest: a tag can't be broken over lines.
var descriptions = map[string]string{
	"Config.version":             "Version of the format: 1.",
	"Config.models":              "Chat models by name.",
	"Config.roles":               "Which model does what; a list is a fallback chain.",
	"Config.skills":              "Where skills are read from.",
	"Config.permissions_default": "What the rules say of a call that none of them matches (default allow: scope stays deny-by-default).",
	"Config.permissions":         "Rules that lower what a call may do. The most restrictive match wins.",
	"Config.tests":               "What the rules are expected to say of calls; vedette test runs them.",
	"Config.guard":               "Adds to the built-in guard, never removes.",
	"Config.judge":               "Thresholds of the graded judge.",
	"Config.sentinel":            "The model review.",
	"Config.orchestrator":        "How the model works that splits requests into missions.",
	"Config.agents":              "The times of agents; waits for people are not counted.",
	"Config.limits":              "Budgets, and the breaker that every skill has.",
	"Config.approvals":           "How people are asked.",
	"Config.alerts":              "Rules over the decision log; the channels of approvals.notify are told. They hold no decision.",
	"Alert.name":                 "Names the alert in messages.",
	"Alert.watch": "What is watched for: denials or degraded, a rate of decisions; first_irreversible, a skill's first irreversible call; " +
		"canaries, a model that fails them; verify, a ledger that was changed.",
	"Alert.count":    "How many such decisions there must be within the window (default 10).",
	"Alert.share":    "Their least share of all decisions that the alert looks at, 0 to 1 (default 0).",
	"Alert.window":   "The time that is counted over (default 10m).",
	"Alert.query":    "Which records are looked at, as vedette ledger list chooses them (default all).",
	"Alert.every":    "How often the ledger is verified; it takes a second for some 200,000 records (default 24h).",
	"Alert.throttle": "The least time between two messages of the alert (default 1h).",
	"Alert.channels": "Names of channels under approvals.notify (default all).",
	"Config.answers": "What answers may hold that come from what others could have written.",
	"Config.ledger":  "The database of decisions.",
	"Config.journal": "Where arguments, results and messages live, sealed.",
	"Config.keys":    "Where keys live.",
	"Config.credentials": "What a user's calls authenticate with, by name: skills name them in their run block, models never see " +
		"them. One of fewer than 8 bytes counts as missing.",
	"Config.server": "The HTTP server of vedette serve.",
	"Config.assistants": "Assistants by name, which chat interfaces choose as their model below /assistants/v1/ (default one, vedette, " +
		"that works as the rest of this file says).",
	"Config.intent": "What turns texts of users into checked, signed and typed intents before anything acts on them: see docs/intent.md. " +
		"Off without it.",
	"Config.telemetry": "Metrics and traces, both off by default. No value of a call is in them.",
	"Config.reload":    "What vedette serve does with a changed configuration while it runs.",

	"Intent.languages":      "Languages whose numbers, dates and small words the grammar knows (default en).",
	"Intent.month_first":    "Read 3/4/2026 as the 4th of March (default false).",
	"Intent.currencies":     "Codes that amounts may have (default EUR, USD, GBP, CHF).",
	"Intent.currency":       "The currency of amounts without one (default none: such a number is no amount).",
	"Intent.actions":        "What users can ask for, by name: the closed list of actions.",
	"Intent.expertise":      "Fields of knowledge by name, with the phrases that name them.",
	"Intent.topics":         "Topics by name, with the phrases that name them.",
	"Intent.entities":       "Things that requests are about, by kind.",
	"Intent.listed_topics":  "Take topics from topics alone (default false: what stands behind 'about' and its like is one).",
	"Intent.references":     "Ids of things that users may name.",
	"Intent.parsers":        "Models that read texts beside the grammar, by name. Each has its own breaker, and a trust below 1.",
	"Intent.parser_breaker": "When a parser that fails leaves, and when it is tried again.",
	"Intent.isolation": "process: each parser reads each text in a sandboxed process of its own that is used once. goroutine: " +
		"in this process " +
		"(default process in vedette serve, goroutine in programs of one's own).",
	"Intent.workers":  "How many processes of each parser wait for texts (default 2).",
	"Intent.detector": "What looks for attacks before anything reads a text.",
	"Intent.policy":   "What is allowed. What its lists don't name is a mismatch.",
	"Intent.confirm":  "When users are asked to confirm what was understood.",
	"Intent.approve":  "always: an approver is asked about every request (default when_needed).",
	"Intent.hard":     "What becomes of a hard mismatch: approve asks an approver, block denies it (default approve).",
	"Intent.conversations": "What assistants.NAME.intent is to conversations that no assistant leads: those of /v1/conversations, of the " +
		"pages and of vedette chat (default the strictest that any assistant has).",
	"Intent.lifetime": "How long a trusted intent is valid (default 5m).",
	"Intent.rates":    "Bounds for the requests of each user, by the risk of what they ask for. A risk without one has none.",
	"Intent.max_text": "Greatest size of a text in bytes (default 16384).",
	"Intent.texts": "full: texts are kept, sealed in the journal. digest: a keyed digest, and the text only while its request " +
		"waits (default " +
		"digest).",
	"Intent.addresses": "How much of clients' addresses is kept: short leaves out the last 8 bits of IPv4 and the last 80 of " +
		"IPv6 (default " +
		"short).",

	"IntentAction.words": "Phrases that name the action. * stands for up to five words, at the end of a word for its endings. Without " +
		"phrases only models can name it.",
	"IntentAction.description": "What it does, for models that read texts and for people.",
	"IntentAction.risk":        "How much harm it can do (default high).",
	"IntentAction.skill":       "The skill that does it, through the checkpoint (default: a handler of the program).",
	"IntentAction.arguments": "The skill's arguments, each made of a field of the intent: action, topic, expertise, first_expertise, " +
		"references, first_reference, budget, currency, max_results, max_length, deadline, domains, first_domain, entities, entity.KIND, " +
		"intent_id.",
	"IntentAction.timeout": "Bounds one run of the program's handler (default 1m).",
	"IntentAction.grants":  "Skills that a turn may use whose request asks for this, or domains such as email.*: see assistants.NAME.intent.",
	"IntentAction.limits":  "What narrows the limits of such a turn.",
	"IntentLimits.agents":  "Agents of a turn.",
	"IntentLimits.calls":   "Calls that each agent may propose.",
	"IntentLimits.tokens":  "Tokens that a turn may have spent, with its agents, when the orchestrator's model is asked.",
	"IntentAction.approve": "Ask an approver each time (default false).",

	"IntentKind.names": "Entities of the kind by name, with the phrases that name them.",

	"IntentReferences.begin":  "Beginnings of ids, such as doc_, by which the grammar finds them.",
	"IntentReferences.grants": "Who may use which ids (default: no id may be used, unless the program has a store of its own).",
	"IntentGrant.users":       "Patterns of user ids: * any characters, / too; ? one; [a-z] one of a class.",
	"IntentGrant.ids":         "Ids that these users may use.",

	"IntentParser.model":       "A model under models.",
	"IntentParser.trust":       "How much it is trusted, below 1, which fixed rules have (default 0.75).",
	"IntentParser.timeout":     "Bounds one text (default 10s).",
	"IntentParser.concurrency": "Texts with it at a time (default 64).",

	"IntentRate.per_minute":  "Requests of one user a minute.",
	"IntentRate.burst":       "Requests at once (default per_minute).",
	"IntentBreaker.failures": "Failures in a row after which a parser leaves (default 5).",
	"IntentBreaker.window":   "How long failures are remembered (default 1m).",
	"IntentBreaker.open_for": "How long it is gone before one text tries it (default 30s).",

	"IntentDetector.families": "What becomes of a family's hits (default block for command, sql, script, path and cloud, flag " +
		"for injection). A " +
		"flagged text is low at best in the vote.",
	"IntentDetector.block_at": "Score from which on a hit of a family in block blocks (default 0.80).",
	"IntentDetector.flag_at":  "Score from which on a hit flags (default 0.40).",

	"IntentDetector.classifier": "A model, or a server of one's own, whose score can only raise what the rules found (default none).",

	"IntentClassifier.model": "A model under models.",
	"IntentClassifier.url": "Where {\"text\": …} is posted to, with https; it answers {\"score\": 0.93}, from 0 to 1. Take it from the " +
		"environment.",
	"IntentClassifier.token":   "Sent to the url as a bearer token; take it from the environment.",
	"IntentClassifier.timeout": "Bounds one text (default 2s). One that fails changes nothing, and is on record.",

	"IntentPolicy.actions":       "Actions that are allowed; no other is.",
	"IntentPolicy.expertise":     "Expertise that is allowed; no other is.",
	"IntentPolicy.budgets":       "The greatest amounts by currency; a currency without one is not allowed.",
	"IntentPolicy.max_results":   "The most results that may be asked for (default no bound).",
	"IntentPolicy.max_length":    "The most words that may be asked for (default no bound).",
	"IntentPolicy.earliest_days": "The soonest deadline, in days from today (default today).",
	"IntentPolicy.latest_days":   "The latest deadline, in days from today (default no bound).",
	"IntentPolicy.domains":       "Hosts that are allowed: example.com, or *.example.com for those below it (default none).",
	"IntentPolicy.topics":        "Topics that are allowed (default all).",
	"IntentPolicy.forbid":        "What is blocked, whatever else allows it.",
	"IntentPolicy.soft_tolerance": "By how much a number may be above its maximum and be a soft mismatch, which the user " +
		"confirms (default 0.10). " +
		"Beyond it the mismatch is hard.",
	"IntentPolicy.constraints": "Conditions in CEL that are mismatches where they are true.",

	"IntentTopics.allow":    "Topics in any spelling.",
	"IntentTopics.patterns": "Patterns of topics, such as supply_*.",

	"IntentForbid.actions":   "Actions that are blocked.",
	"IntentForbid.expertise": "Expertise that is blocked.",
	"IntentForbid.topics":    "Patterns of topics that are blocked.",

	"IntentConstraint.id": "Names it in records (default constraint-N).",
	"IntentConstraint.when": "CEL over action, risk, topic, topic_words, expertise, references, budget, currency, has_budget, " +
		"max_results, max_length, " +
		"deadline_days, has_deadline, domains, entities and user. One that can't be evaluated is a hard mismatch.",
	"IntentConstraint.then":   "What a match is.",
	"IntentConstraint.reason": "Shown to those who are asked.",

	"IntentConfirm.from":    "The risk from which on a low vote asks the user (default medium).",
	"IntentConfirm.timeout": "How long users have to answer (default 5m).",

	"Reload.allow_loosening": "Whether a reload may take up what lets more through (default false: that needs a restart). What the " +
		"process runs by counts, so no reload can turn it on.",

	"Model.model":       "What the server calls the model.",
	"Model.base_url":    "The address before /chat/completions.",
	"Model.api_key":     "Sent as a bearer token. Take it from the environment: ${NAME:-}.",
	"Model.timeout":     "Bounds one request (default 60s).",
	"Model.reasoning":   "The model reasons before it answers: effort is sent to it, temperature isn't.",
	"Model.effort":      "Reasoning effort (default: the lowest that keeps reasoning on).",
	"Model.context":     "Size of the context window in tokens.",
	"Model.tools":       "Whether the model takes tools (default true).",
	"Model.json_schema": "Whether the server can hold an answer to a strict JSON Schema (default true).",
	"Model.schemaless": "With json_schema: false, how the review gets its answer: tool, a forced tool call, or json_object, which " +
		"promises JSON and no shape. Every record of the review says so.",
	"Model.legacy_max_tokens": "Send max_tokens in place of max_completion_tokens (default false).",
	"Model.max_response":      "Bounds the answer's body in bytes (default 8 MiB).",
	"Model.concurrency": "Requests to the model at a time, from agents and orchestrator in this process; others wait, the users in " +
		"turn (default 64).",
	"Model.requests_per_minute": "How many requests a minute the review may send to the model from this process (default no bound).",
	"Model.max_tokens": "Bounds an answer to agents and orchestrator in tokens, reasoning included (default: the server's own " +
		"bound).",
	"Model.stream": "Whether answers are streamed to readers who follow them (default on); off for a server that can't stream.",
	"Model.price":  "What a million tokens cost, for budgets in money.",

	"SkillFiles.include": "Glob patterns relative to this file's folder; ** crosses folders. Each must match a file.",
	"SkillFiles.known": "Skills that the program registers itself, in Go: the same keys as in a skill file, without run. Rules " +
		"and tests may be about them, and check, eval and test judge their calls. What the program registers must " +
		"agree.",

	"Rule.id":     "Names the rule in records (default rule-N).",
	"Rule.skill":  "A skill's name, domain.* or *.",
	"Rule.users":  "Patterns of user ids: * any characters, / too; ? one; [a-z] one of a class (default: every user).",
	"Rule.when":   "CEL condition over the call; an error in it denies.",
	"Rule.then":   "What a match makes of the call.",
	"Rule.modify": "With then: modify, the rewrites, applied in order before the gates judge.",
	"Rule.reason": "Shown to the review and to the person who is asked.",

	"Guard.roots":        "Folders that path arguments must lie in.",
	"Guard.forbid_paths": "Glob patterns of paths that no call may touch; one without / matches in every folder.",
	"Guard.allow_hosts":  "Private hosts that calls may reach, by name or address, without port; never a metadata service.",

	"Judge.threshold": "Calls that score below are denied (default 0.30).",
	"Judge.ask_below": "Calls that score below are asked about (default 0.50).",
	"Judge.own_domains": "Mail domains of the house: each vouches for an address whose owner the user named, and for no list, guest or " +
		"address with a plus.",
	"Judge.habits": "on: a call to the same recipients by the same skill, with no greater amount, that a person approved for its user on " +
		"three days of the last 90 is in doubt no more. It makes up for doubts alone, and for none in a tainted call (default off).",

	"Limits.agent":        "One agent over its life.",
	"Limits.turn":         "One turn of the conversation, all its agents together.",
	"Limits.conversation": "A conversation over a sliding window.",
	"Limits.user":         "What one user may have at a time in this process, and spend on models in a day.",
	"Limits.process": "What there may be at a time in this process. What finds no room waits, the users in turn, or is told " +
		"when to come again.",
	"Limits.skill": "The breaker that every skill has, and how often it runs at a time.",
	"Limits.store": "Where all of these are counted.",

	"AgentLimits.calls":  "Calls an agent may propose at most, whatever its dispatch names (default 5, or up to 20 that it names).",
	"AgentLimits.tokens": "Tokens that an agent's model calls may take (default no bound).",
	"AgentLimits.cost":   "What an agent's model calls may cost, in the currency of the models' prices (default no bound).",

	"Orchestrator.prompt": "Instructions in place of the built-in ones; the list of skills follows them. Keep what they say of agents, " +
		"waits and refusals.",

	"Agents.timeout":      "An agent's time, waits for people and the orchestrator aside (default 60s).",
	"Agents.help_timeout": "How long an agent waits when it has asked the orchestrator for help (default 5m).",
	"Agents.wave_timeout": "The time of agents that are started together; waits for people and the orchestrator aside; then they " +
		"report what they have (default 120s).",

	"TurnLimits.agents": "Agents a turn may dispatch (default 8).",
	"TurnLimits.calls":  "Calls all agents of a turn may propose (default 30).",
	"TurnLimits.tokens": "Tokens that the model calls of a turn and its agents may take (default no bound).",
	"TurnLimits.cost":   "What the model calls of a turn and its agents may cost (default no bound).",

	"ConversationLimits.calls":  "Calls that may be proposed within the window (default 50).",
	"ConversationLimits.window": "How long a call, a token and its cost count (default 5m).",
	"ConversationLimits.tokens": "Tokens that a conversation's model calls may take within the window (default no bound). In memory a " +
		"restart begins at zero; with limits.store on Redis it does not.",
	"ConversationLimits.cost": "What a conversation's model calls may cost within the window (default no bound). In memory a restart " +
		"begins at zero; with limits.store on Redis it does not.",

	"Approvals.timeout": "How long a held call waits for a person (default 5m).",
	"Approvals.inbox": "true keeps questions in the database until a person answers: vedette approvals, or the program (default false). " +
		"A program with an approver of its own doesn't use it.",
	"Approvals.who": "Who may answer which questions of the inbox; all rules that match a call hold together. Without a rule " +
		"everybody who is authenticated may, and one yes is enough.",
	"Approvals.notify": "Channels that are told of questions in the inbox. " +
		"A message names skills, users and times, and holds no value of a call.",
	"NotifyChannel.name":     "Names the channel in the database and the log.",
	"NotifyChannel.skills":   "Names of skills, domain.* or *; without it, every skill.",
	"NotifyChannel.batch":    "How long new questions are gathered before a message is sent (default 5s).",
	"NotifyChannel.throttle": "The least time between two messages (default 30s).",
	"NotifyChannel.decided":  "true sends a message too when questions that the channel was told of wait no more.",
	"NotifyChannel.smtp":     "Sends mail.",
	"NotifyChannel.slack":    "Posts to an incoming webhook of Slack.",
	"NotifyChannel.teams":    "Posts to a workflow of Microsoft Teams.",
	"NotifyChannel.webhook":  "Posts JSON, signed as Standard Webhooks says.",
	"NotifySMTP.host":        "The mail server.",
	"NotifySMTP.port":        "Its port (default 587, with tls: tls 465, with tls: none 25).",
	"NotifySMTP.tls":         "starttls, tls from the first byte, or none, which is for a server on this machine alone (default starttls).",
	"NotifySMTP.username":    "Who signs in; without it the server isn't asked to authenticate.",
	"NotifySMTP.password":    "The password; take it from the environment.",
	"NotifySMTP.from":        "The sender's address.",
	"NotifySMTP.to":          "One address, or a list of them.",
	"NotifyURL.url":          "The address, with https. It is all that posting there takes, so take it from the environment.",
	"NotifyWebhook.url":      "The receiver's address, with https.",
	"NotifyWebhook.secrets": "One secret, or several while a receiver goes over to a new one; " +
		"each is whsec_ and base64 of 24 to 64 bytes.",
	"WhoRule.skill":  "A skill's name, domain.* or * (default *).",
	"WhoRule.effect": "One effect; without it, every effect.",
	"WhoRule.users":  "Patterns of the ids of users on whose behalf a call is made, with * and ?; without it, every user.",
	"WhoRule.approvers": "Names of those who may answer: ann by a token or OIDC, local:ann at the terminal; " +
		"without it, everybody who is authenticated.",
	"WhoRule.min":               "How many different people must say yes (default 1).",
	"WhoRule.exclude_requester": "true keeps the user on whose behalf the call is made from answering.",
	"Approvals.pending":         "How many calls may wait for a person at a time; a call beyond that is denied and no question is asked.",

	"Pending.user":         "A user's calls that may wait for a person (default 20).",
	"Pending.conversation": "A conversation's calls that may wait for a person (default 5).",
	"Pending.process":      "Calls of this process that may wait for a person (default 10000).",

	"Answers.links": "Links and images; those that lead elsewhere become text.",

	"Links.allow": "Hosts such as example.com, or *.example.com for every host below it; hosts in the user's request are " +
		"allowed as well (default none).",

	"Ledger.driver": "The database (default sqlite).",
	"Ledger.path":   "The database file (default vedette.db in this file's folder).",
	"Ledger.anchors": "Places that keep the newest signed head where a writer of the database can't write. A start is refused where the " +
		"database is behind one.",
	"LedgerAnchor.name":     "Names the anchor in the log and in metrics.",
	"LedgerAnchor.every":    "How often the newest head is sent, where it is another (default 1m).",
	"LedgerAnchor.required": "true refuses a start where the anchor can't be read, or has no head of a ledger that has records.",
	"LedgerAnchor.file":     "Appends each head to a file, on another disk or a share that takes no changes.",
	"LedgerAnchor.http":     "Posts each head to a server.",
	"LedgerAnchor.witness":  "Has each head cosigned by a witness (C2SP tlog-witness).",
	"LedgerAnchor.tiles":    "Publishes the ledger's tree in a folder, as a log of C2SP's tlog-tiles; records aren't published.",
	"LedgerAnchor.s3":       "Writes each head as an object of an S3-compatible store, locked against changes (object lock).",
	"AnchorFile.path":       "The file; it is made where it is missing.",
	"AnchorHTTP.url":        "Where each head is posted to as text/plain, with https.",
	"AnchorHTTP.read_url":   "Where heads are read from at a start; without it the ledger isn't compared with this anchor.",
	"AnchorHTTP.token":      "Sent as a bearer token; take it from the environment.",
	"AnchorWitness.url":     "The witness's submission prefix, with https.",
	"AnchorWitness.key":     "Its public key, name+hash+base64, as its operator publishes it.",
	"AnchorWitness.file":    "A file that cosigned heads are appended to; a start compares the ledger with them.",
	"AnchorTiles.path":      "The folder, with a folder for each file of the ledger; it is made where it is missing.",
	"AnchorS3.endpoint":     "The store's address without the bucket, with https.",
	"AnchorS3.region":       "The region that requests are signed for.",
	"AnchorS3.bucket":       "The bucket; it must have object lock and versions.",
	"AnchorS3.prefix":       "Begins the names of the objects, such as vedette/ (default none).",
	"AnchorS3.access_key":   "The key's name; take it from the environment.",
	"AnchorS3.secret_key":   "The key; take it from the environment.",
	"AnchorS3.retain":       "How long each object is locked (default: what the bucket says).",
	"AnchorS3.governance":   "true locks in the mode GOVERNANCE, which some users of the store may lift (default COMPLIANCE).",
	"Ledger.archive": "When the database file is closed and another goes on in its place (default never; vedette ledger archive does it at " +
		"any time). Records stay in the closed file, all else that lives moves.",
	"LedgerArchive.max_bytes": "Size of the file in bytes.",
	"LedgerArchive.max_age":   "Age of the first record in the file.",
	"Ledger.sink":             "A folder that every record is written to besides, as JSON lines in a file a month (default none).",
	"Ledger.values":           "What is held of argument values (default keys: none).",

	"Journal.retention": "How long arguments and results are kept after the turn (default 168h).",

	"Keys.dir": "Folder of the keys (default vedette-keys beside the database).",

	"Server.listen": "host:port that vedette serve listens on (default 127.0.0.1:8420). Anything but the loopback needs tls or " +
		"proxies, and public_url.",
	"Server.public_url": "The address by which people and programs reach the server, such as https://vedette.example.com: links " +
		"lead there, and requests must name it (default the address it listens on).",
	"Server.hosts":   "Further names that requests may have in their Host header, such as vedette.internal or 10.0.0.5:8420.",
	"Server.tls":     "Certificate of the server; both files are read again when they change.",
	"Server.proxies": "Networks of proxies that end TLS before the server, such as 10.0.0.0/8. Their X-Forwarded-For is believed.",
	"Server.metrics": "Who may read /metrics: admin, tokens with that scope, or loopback, callers on this machine too (default admin).",
	"Server.auth":    "Who may call, besides the tokens of vedette token.",
	"Server.limits":  "Bounds of requests and connections.",
	"Server.chat":    "How chat interfaces are answered below /assistants/v1/.",

	"ServerChat.idle": "How long after its last request a token goes on with its conversation, where the request names none (default 30m).",
	"ServerChat.hold": "How long an answer is held open while a person is asked; then it ends and names the approval (default 45s).",

	"Config.proxy": "The streaming proxy for clients that change only a base URL: docs/streaming.md. Without an upstream there is none.",

	"Proxy.mode": "enforce: no call is forwarded that wasn't allowed; shadow: everything is forwarded, and what enforcing would have " +
		"done is recorded; off (default enforce).",
	"Proxy.on_block":   "What follows a blocked call in an answer: terminate ends it, continue goes on (default terminate).",
	"Proxy.incomplete": "Calls that have no end when their answer has: block, or judge those whose arguments are whole (default block).",
	"Proxy.notice": "The text in the place of a blocked call, with {tool}, {gate}, {reason} and {decision_id} (default: a text of the " +
		"proxy's own).",
	"Proxy.hold":       "How long a stream is held open while a person is asked (default 45s).",
	"Proxy.keep_alive": "How often something is sent on a stream that is held (default 10s).",
	"Proxy.idle": "How long after its last request a key goes on with its conversation, where requests name none with " +
		"X-Vedette-Conversation (default 30m).",
	"Proxy.local": "Callers on this machine need no token, and their own provider's key goes to the upstream (default false). For a " +
		"server on the loopback, with upstreams that have no key.",
	"Proxy.openai":    "Servers behind /proxy/openai/v1; the first that has a request's model answers it.",
	"Proxy.anthropic": "Servers behind /proxy/anthropic/v1; the first that has a request's model answers it.",
	"Proxy.tools": "What calls of clients' tools do; the first entry that matches a tool counts (default: irreversible, and they reach " +
		"others).",
	"Proxy.limits":   "Bounds of requests and answers.",
	"Proxy.timeouts": "Bounds of the waits for upstreams.",

	"ProxyUpstream.url":        "What a client would have as its base URL, such as https://api.openai.com/v1 or https://api.anthropic.com.",
	"ProxyUpstream.models":     "Models that it has, with * for any characters (default all).",
	"ProxyUpstream.api_key":    "The key that is sent to it; take it from the environment (default: the client's own).",
	"ProxyUpstream.credential": "In place of api_key: a name under credentials, for a key of each user.",

	"ProxyTool.tool": "A tool's name as clients have it, with * for any characters, such as Bash or mcp__git__*. Rules name it as a " +
		"skill: Bash is tool.b-uash.",
	"ProxyTool.effect":    "What a call does to the world.",
	"ProxyTool.reaches":   "Whose world a call changes (default others).",
	"ProxyTool.approval":  "When a person is asked (default policy).",
	"ProxyTool.sensitive": "What it returns is private (default false).",
	"ProxyTool.disabled":  "Refuse every call (default false).",
	"ProxyTool.arguments": "What top-level arguments are, such as file_path: path, command: shell, content: content.",

	"ProxyLimits.body":      "A request's body in bytes (default 67108864).",
	"ProxyLimits.answer":    "An answer that isn't streamed, in bytes (default 67108864).",
	"ProxyLimits.arguments": "A call's arguments in bytes; beyond it the call is blocked (default 1048576).",
	"ProxyLimits.buffered":  "All that is held of an answer, in bytes; beyond it the stream ends with an error (default 8388608).",
	"ProxyLimits.calls":     "Calls of an answer; beyond it the stream ends with an error (default 128).",
	"ProxyLimits.streams":   "Answers of one key that are under way at a time (default 1024).",
	"ProxyLimits.held":      "Streams of one key that are held for a person at a time; others are refused at once (default 16).",

	"ProxyTimeouts.connect": "A connection to an upstream (default 10s).",
	"ProxyTimeouts.header":  "The beginning of an upstream's answer (default 10m).",
	"ProxyTimeouts.idle":    "The next byte of an upstream's answer (default 5m).",

	"Assistant.description": "What it is for, in a line for people who choose.",
	"Assistant.prompt": "Instructions in place of orchestrator.prompt, at most 16 KiB. Keep what the built-in ones say of agents, " +
		"refusals and outside data.",
	"Assistant.prompt_file": "File with such instructions: UTF-8 text of at most 16 KiB.",
	"Assistant.persona":     "How answers sound, at most 4 KiB; it follows the instructions.",
	"Assistant.locale":      "Language, and region, of answers where the user writes in no other, such as de-AT.",
	"Assistant.roster":      "Models in place of those under roles: orchestrator and agent, one or a list.",
	"Assistant.skills":      "The most that its agents may use: skills, or domains such as email.* (default what the token may use).",
	"Assistant.intent": "required: a request may use what the action of its trusted intent grants, and nothing without one. advisory: the " +
		"intent is on record and narrows nothing. off (the default): none is made.",
	"Assistant.groups": "Groups of users who may use it (default all).",
	"Assistant.limits": "What narrows the limits of this file for its requests.",
	"Assistant.tiers":  "What holds instead for groups of users.",

	"AssistantLimits.requests": "How many requests each user may send within window.",
	"AssistantLimits.window":   "The window of requests (default 1h).",
	"AssistantLimits.agents":   "How many agents a request may have; limits.turn.agents holds besides.",
	"AssistantLimits.calls":    "How many calls each of its agents may propose; limits.agent.calls holds besides.",
	"AssistantLimits.tokens":   "Tokens of a request, with its agents, after which the orchestrator's model is asked no more.",

	"AssistantTier.group":  "The users' group, as their tokens have it.",
	"AssistantTier.roster": "Models in place of the assistant's.",
	"AssistantTier.skills": "Skills in place of the assistant's.",
	"AssistantTier.limits": "Limits in place of the assistant's, one by one.",

	"ServerTLS.cert": "File of the certificate, with those between it and the root, in PEM.",
	"ServerTLS.key":  "File of the certificate's key in PEM, which others can't read.",

	"ServerAuth.oidc": "An OpenID Connect issuer whose bearer tokens count.",

	"ServerOIDC.issuer":     "Address of the issuer, as its tokens have it: https, or http on this machine.",
	"ServerOIDC.audience":   "What must stand in a token's aud: the name of this server at the issuer.",
	"ServerOIDC.user_claim": "Claim that names the user (default sub). With email the issuer must have verified it.",
	"ServerOIDC.scopes_claim": "Claim with scopes, as one text or a list (default scope). Those that count begin with scope_prefix " +
		"and stand under scopes.",
	"ServerOIDC.scope_prefix": "What begins the scopes that are ours (default vedette:).",
	"ServerOIDC.scopes": "Scopes that the claim may give. At many issuers a client chooses what stands there: list none that only " +
		"some users may have (default none).",
	"ServerOIDC.groups_claim": "Claim with the user's groups (default groups).",
	"ServerOIDC.groups":       "What members of groups may do.",
	"ServerOIDC.user_turns":   "human: what its users send as a request are a person's own words.",
	"ServerOIDC.per_minute":   "Requests a minute of each user (default server.limits.per_minute).",

	"ServerOIDC.sign_in": "People sign in to the pages at the issuer.",

	"ServerSignIn.client_id": "Name of this server at the issuer, for its pages. Their address there is public_url and /login/callback.",
	"ServerSignIn.client_secret": "What proves that it is this server; take it from the environment: ${NAME}. A public client has " +
		"none.",
	"ServerSignIn.client_secret_file": "File that holds it instead, which others can't read.",
	"ServerSignIn.scopes": "What the issuer is asked for besides openid, such as email, groups, offline_access (default none). User and " +
		"groups must then stand in the ID token.",
	"ServerSignIn.user_info": "true: where the ID token lacks user_claim or groups, they are asked for at the issuer's UserInfo.",
	"ServerSignIn.sign_out": "true: who signs out of the pages is signed out at the issuer too, where it has an end_session_endpoint. " +
		"Register public_url and /login there as the address after it.",
	"ServerSignIn.only": "true: the pages take no token, and people sign in at the issuer alone.",

	"ServerGroup.group":  "Name of the group, as the claim has it.",
	"ServerGroup.scopes": "What its members may do.",

	"ServerLimits.per_minute":              "Requests a minute of a token without a limit of its own (default 600).",
	"ServerLimits.body":                    "Greatest size of a request's body in bytes (default 1048576).",
	"ServerLimits.connections":             "Connections that are open at a time (default 4096).",
	"ServerLimits.connections_per_address": "Connections of one address at a time; those of a declared proxy don't count (default 512).",
	"ServerLimits.header_timeout":          "How long the headers of a request may take (default 5s).",
	"ServerLimits.read_timeout":            "How long a whole request may take to arrive (default 30s).",
	"ServerLimits.idle_timeout":            "How long a connection may stay open between two requests (default 2m).",
	"ServerLimits.drain":                   "How long work under way has when the server is told to end (default 30s).",

	"Credential.env": "Name of an environment variable with {user} in it, such as GITHUB_TOKEN_{user}. Of the user's id letters " +
		"and digits stand for themselves, every other byte is _XX.",
	"Credential.file": "A file per user with mode 0600, with {user} in the last part of its path, such as " +
		"./credentials/crm/{user}. Of the user's id small letters, digits, -, _, @ and inner dots stand for " +
		"themselves, every other byte is %xx.",
	"Credential.program": "Ask the resolver of the program that embeds Vedette.",

	"LimitStore.driver": "Where limits are counted: memory, each process for itself, or redis, all processes together (default " +
		"memory).",
	"LimitStore.url": "With driver redis: redis://user:password@host:port/db, rediss:// for TLS, or unix:///path. Take it from " +
		"the environment: ${REDIS_URL}.",
	"LimitStore.prefix": "With driver redis: begins all keys, so that deployments that share a server don't share budgets (default " +
		"vedette).",
	"LimitStore.timeout": "With driver redis: bounds one question to the server (default 200ms).",
	"LimitStore.when_away": "With driver redis: what happens to calls while the server can't be asked. Those that go on are counted " +
		"by each process for itself, and marked as degraded.",

	"Sentinel.mode":  "Whether the review's answers count, are only recorded, or it doesn't run (default enforce).",
	"Sentinel.modes": "Other modes for some effects and some skills; a skill's own counts before its effect's.",
	"Sentinel.answer": "binary: the model approves or rejects; graded: it says besides how likely the call is right, and reject_below " +
		"counts " +
		"(default binary).",
	"Sentinel.reject_below": "With answer: graded, the score below which an approval is none (default 0.50). The score is how likely " +
		"the model takes the call to be right.",
	"Sentinel.arguments": "What of a call's arguments the model is shown: values, or keys, their names alone (default values).",
	"Sentinel.reasoning": "Let the model write a short reasoning before its decision: slower, for models that don't reason by " +
		"themselves (default false).",
	"Sentinel.trace": "How many of the agent's last steps the model is told of: skill, effect, trust, outcome and size, no " +
		"contents (default none).",
	"Sentinel.prompt": "File with criteria of your own, in place of the review's: UTF-8 text of at most 16 KiB. It says what the " +
		"document's fields mean and how to weigh them; how to answer is added to it. Records name it custom- and " +
		"the first 12 digits of its SHA-256 (default: Vedette's own).",
	"Sentinel.breaker":     "Stops asking a model that doesn't answer.",
	"Sentinel.concurrency": "Questions of the review to one model at a time; others wait (default 1024).",
	"Sentinel.retries": "How often a question is sent again to a model that could not be reached, was busy or failed, before the " +
		"next model is asked (default 1).",
	"Sentinel.escalate": "Asks a stronger model for a second opinion; where the two disagree, a person is asked.",
	"Sentinel.cache_ttl": "How long an answer may be used again for the same call in the same situation: rejections, and approvals " +
		"of reads and inward creations (default 5m, 0s never).",
	"Sentinel.cache_size": "How many answers are kept (default 10000).",
	"Sentinel.timeout":    "Bounds one review, all its models together (default 30s).",
	"Sentinel.budget":     "What the review itself may spend on models. What is beyond can't be judged: see unjudgeable.",
	"Sentinel.canaries":   "Questions with known answers, to notice a model that has gone bad.",
	"Sentinel.profile": "Which calls need no model. strict: none; balanced: inward reads of skills marked risk: low that name no " +
		"wildcard, other user or export; thrifty: such creations too. Tainted calls, doubts and agent.* are always judged " +
		"(default strict).",
	"Sentinel.evidence": "What the review is shown of where the values of a call were seen. records: step, trust and the records of " +
		"trusted results that hold them; provenance: step and trust; all: strangers' records too, which then speak to the model; " +
		"off: nothing (default records).",
	"Sentinel.doubts": "What becomes of the judge's doubts, signals that words can't settle. review: a model settles them, once it " +
		"has passed its canaries for doubts, and they count where no model judged; count: they always count (default review).",
	"Sentinel.unavailable": "What happens while no model can be reached.",
	"Sentinel.unjudgeable": "What happens where a model is there and the call has no judgement: an answer that is none, a timeout of " +
		"its own, no room in time, a spent budget, a question that is too long.",

	"Modes.effect": "Modes by effect.",
	"Modes.skill":  "Modes by a skill's name, such as email.send.",

	"Escalate.to":       "The stronger model; a list is a fallback chain.",
	"Escalate.rejected": "Effects whose rejections are looked at again (default read, create).",
	"Escalate.approved": "Effects whose approvals are looked at again (default irreversible, costs_money).",

	"ReviewBudget.conversation": "For one conversation, within 24 hours.",
	"ReviewBudget.user":         "For one user, within 24 hours.",
	"ReviewBudget.day":          "For all users together, within 24 hours.",
	"ReviewBudget.rules_for": "Effects whose calls the rules decide alone once day is spent, instead of unjudgeable (default none). A " +
		"call that reaches others needs outward here too. A user who can make many calls can spend the day's " +
		"budget.",

	"ReviewShare.calls":  "Questions to models (default no bound).",
	"ReviewShare.tokens": "Tokens of questions and answers (default no bound).",
	"ReviewShare.cost":   "What the questions may cost, in the currency of the models' prices (default no bound).",

	"Canaries.every": "How often each model is asked questions with known answers, at the start for the first time (default 6h, " +
		"0s never); one that has not passed is asked again after 10 minutes, or sooner where this is less. They " +
		"are six, of a few hundred tokens each.",

	"Breaker.failures": "How many failures in a row within the window open the breaker; so does a half of four times as many " +
		"requests.",
	"Breaker.window":   "How long a failure counts.",
	"Breaker.open_for": "How long an open breaker refuses before it lets a probe through.",

	"Fallback.read":         "Calls that only read.",
	"Fallback.create":       "Calls that create.",
	"Fallback.modify":       "Calls that change.",
	"Fallback.irreversible": "Calls that can't be undone.",
	"Fallback.costs_money":  "Calls that cost money.",
	"Fallback.outward":      "Calls that reach others.",

	"Rewrite.set":     "The argument that takes the value to.",
	"Rewrite.to":      "With set: the value.",
	"Rewrite.clamp":   "The number that is held between min and max.",
	"Rewrite.min":     "With clamp: the least.",
	"Rewrite.max":     "With clamp: the greatest.",
	"Rewrite.redact":  "The argument in whose texts text or pattern is replaced.",
	"Rewrite.text":    "With redact: what is replaced; with append: what is added.",
	"Rewrite.pattern": "With redact: an RE2 expression of what is replaced.",
	"Rewrite.with":    "With redact: what stands in its place (default nothing).",
	"Rewrite.append":  "The text that ends with text afterwards.",
	"Rewrite.remove":  "The argument that is taken out.",
	"Rewrite.narrow":  "The list of texts of which those that match keep stay.",
	"Rewrite.keep":    "With narrow: an RE2 expression of what stays.",

	"Test.name":    "What is expected, in words.",
	"Test.call":    "The call that is proposed.",
	"Test.user":    "The user's id.",
	"Test.agent":   "The agent's id.",
	"Test.mission": "What the agent was told to do.",
	"Test.request": "The user's own words (default: there are none).",
	"Test.granted": "Skills the agent holds (default: the call's own).",
	"Test.history": "What the agent's skills had returned before, oldest first.",
	"Test.time":    "When the call is made, as 2026-01-31T18:00:00Z (default now).",
	"Test.expect":  "What becomes of the call; modify: it is rewritten and not denied.",
	"Test.code":    "The code that the decision must have, such as permission.ask.",
	"Test.gate":    "The gate that must decide.",
	"Test.args":    "The arguments that must be judged, after rules rewrote them.",

	"TestCall.skill": "The skill's name.",
	"TestCall.args":  "Its arguments (default none).",

	"TestStep.skill":  "The skill's name.",
	"TestStep.args":   "Its arguments (default none).",
	"TestStep.result": "What it returned.",
	"TestStep.trust":  "Whether that may be believed (default untrusted).",

	"Price.input":  "What a million tokens cost that are sent to the model.",
	"Price.output": "What a million tokens cost that the model answers with, reasoning included.",

	"ProcessLimits.conversations": "Conversations in use, or idle for less than 15 minutes (default 10000).",
	"ProcessLimits.turns":         "Requests that are worked on at a time (default 256).",
	"ProcessLimits.agents":        "Agents at work at a time (default 1024).",
	"ProcessLimits.waiting":       "Requests that may wait for their turn (default 1024).",
	"ProcessLimits.wait":          "How long a request waits for its turn before it is refused (default 30s).",

	"UserLimits.conversations": "A user's conversations in use (default 1000).",
	"UserLimits.turns":         "A user's requests that are worked on at a time (default 32).",
	"UserLimits.agents":        "A user's agents at work at a time (default 128).",
	"UserLimits.waiting":       "A user's requests that may wait for their turn (default 128).",
	"UserLimits.tokens": "Tokens of models for a user within 24 hours (default no bound). In memory a restart begins at zero; with " +
		"limits.store on Redis it does not.",
	"UserLimits.cost": "What a user may spend on models within 24 hours, in the currency of the models' prices (default no " +
		"bound). In memory a restart begins at zero; with limits.store on Redis it does not.",

	"SkillLimits.failures": "Failures within the window that open the breaker.",
	"SkillLimits.window":   "How long a failure counts.",
	"SkillLimits.open_for": "How long an open breaker refuses before it lets a probe through.",
	"SkillLimits.concurrency": "Calls of one skill that run at a time in this process; others wait up to 10s, the users in turn (default " +
		"64).",

	"skillFile.include": "Glob patterns of more skill files, relative to this file's folder.",
	"skillFile.skills":  "The skills of this file.",

	"skillEntry.name":        "Dot-named, domain first: email.send.",
	"skillEntry.description": "Shown to models and approvers.",
	"skillEntry.effect":      "What a call does to the world. Must be given.",
	"skillEntry.reaches":     "Whose world a call changes (default others for http and exec).",
	"skillEntry.output":      "Whether what it returns may be believed (default untrusted).",
	"skillEntry.stranger_fields": "Fields of a trusted JSON result that their subject writes, such as a display name: those are a " +
		"stranger's.",
	"skillEntry.risk": "low: the operator finds that plain calls need no model, which sentinel.profile makes use of; for skills that " +
		"read or create (default normal).",
	"skillEntry.sensitive": "What it returns is private: a call that carries it out of the process is held against the " +
		"request (default false).",
	"skillEntry.parameters":   "JSON Schema 2020-12 of the arguments; unknown arguments are refused unless it says otherwise.",
	"skillEntry.approval":     "When a person is asked (default policy).",
	"skillEntry.idempotent":   "A second run with the same key has no second effect (default false).",
	"skillEntry.by_reference": "An approval doesn't bind what path arguments name: it may change before the run (default false).",
	"skillEntry.disabled":     "Refuse every call (default false).",
	"skillEntry.timeout":      "Bounds one run (default 30s).",
	"skillEntry.run":          "How it runs: exactly one of template, http, exec, builtin.",

	"Telemetry.metrics": "Counts and times for Prometheus: docs/metrics.md lists them. Off without listen.",
	"Telemetry.traces":  "Spans for OpenTelemetry. Off without otlp.",

	"Metrics.listen": "host:port where GET /metrics is answered, such as 127.0.0.1:9464, which is reached from this machine " +
		"alone. No password is asked for there (default: nowhere).",

	"Traces.otlp": "Address of a collector that takes OTLP over HTTP, such as http://collector:4318 (default: none, no " +
		"spans).",
	"Traces.sample": "Which share of the turns is traced, from 0 to 1, where their caller's own trace doesn't say (default 1).",
}
