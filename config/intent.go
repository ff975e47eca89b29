package config

import (
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Intent says how texts of users become intents that are checked, signed and typed before anything acts on them. It is
// off without actions. Printing it shows no secret.
type Intent struct {
	// Languages are those whose numbers, dates and small words the grammar knows.
	Languages []string `yaml:"languages" json:",omitempty" cfg:"nonempty,enum=en|de|es|fr"`
	// MonthFirst reads 3/4/2026 as the 4th of March.
	MonthFirst bool `yaml:"month_first" json:",omitempty"`
	// Currencies are the codes that amounts may have; Currency is that of amounts without one.
	Currencies []string `yaml:"currencies" json:",omitempty" cfg:"nonempty"`
	Currency   string   `yaml:"currency" json:",omitempty"`
	// Actions, Expertise, Topics and Entities are the closed lists.
	Actions   map[string]IntentAction `yaml:"actions" json:",omitempty" cfg:"required,key=name"`
	Expertise map[string][]string     `yaml:"expertise" json:",omitempty" cfg:"single,key=name"`
	Topics    map[string][]string     `yaml:"topics" json:",omitempty" cfg:"single,key=name"`
	Entities  map[string]IntentKind   `yaml:"entities" json:",omitempty" cfg:"key=name"`
	// ListedTopics takes topics from Topics alone.
	ListedTopics bool `yaml:"listed_topics" json:",omitempty"`
	// References are the ids of things that users may name.
	References IntentReferences `yaml:"references" json:",omitzero"`
	// Parsers are models that read texts beside the grammar, by name.
	Parsers map[string]IntentParser `yaml:"parsers" json:",omitempty" cfg:"key=name"`
	// ParserBreaker says when a parser that fails leaves for a while.
	ParserBreaker IntentBreaker `yaml:"parser_breaker" json:",omitzero"`
	// Isolation is "process" or "goroutine"; empty leaves it to the program.
	Isolation string `yaml:"isolation" json:",omitempty" cfg:"enum=process|goroutine"`
	// Workers is how many processes of each parser wait for texts.
	Workers int `yaml:"workers" json:",omitempty" cfg:"min=1,max=64"`
	// Detector looks for attacks before anything reads a text.
	Detector IntentDetector `yaml:"detector" json:",omitzero"`
	// Policy is what the provider of the actions allows.
	Policy IntentPolicy `yaml:"policy" json:",omitzero"`
	// Rates bound the requests of each user, by the risk of what they ask for.
	Rates map[string]IntentRate `yaml:"rates" json:",omitempty" cfg:"key=low|medium|high"`
	// Confirm says when users are asked.
	Confirm IntentConfirm `yaml:"confirm" json:",omitzero"`
	// Approve is "always" where an approver is asked about every request, else "when_needed".
	Approve string `yaml:"approve" json:",omitempty" cfg:"enum=when_needed|always"`
	// Hard says what becomes of a hard mismatch: "approve" asks an approver, "block" denies it.
	Hard string `yaml:"hard" json:",omitempty" cfg:"enum=approve|block"`
	// Conversations is Assistant.Intent for conversations that no assistant leads; empty is the strictest that any assistant has:
	// see Config.ConversationIntent.
	Conversations string `yaml:"conversations" json:",omitempty" cfg:"enum=required|advisory|off"`
	// Lifetime is how long a trusted intent is valid.
	Lifetime time.Duration `yaml:"lifetime" json:",omitempty" cfg:"min=1s,max=24h"`
	// MaxText is the greatest size of a text in bytes.
	MaxText int `yaml:"max_text" json:",omitempty" cfg:"min=1,max=1048576"`
	// Texts is "full" where texts are kept, else "digest".
	Texts string `yaml:"texts" json:",omitempty" cfg:"enum=digest|full"`
	// Addresses says how much of clients' addresses is kept.
	Addresses string `yaml:"addresses" json:",omitempty" cfg:"enum=short|full|none"`
}

// IsOn reports whether intents are configured.
func (i Intent) IsOn() bool { return len(i.Actions) > 0 }

// IntentAction is something that users can ask for.
type IntentAction struct {
	// Words are the phrases that name it.
	Words []string `yaml:"words" json:",omitempty" cfg:"single"`
	// Description is for models that read texts, and for people.
	Description string `yaml:"description" json:",omitempty"`
	// Risk is what it can do harm to; empty is high.
	Risk string `yaml:"risk" json:",omitempty" cfg:"enum=low|medium|high"`
	// Skill does it, with Arguments that are fields of the intent. Without one the program has a handler for it.
	Skill     string            `yaml:"skill" json:",omitempty"`
	Arguments map[string]string `yaml:"arguments" json:",omitempty" cfg:"key=name"`
	// Timeout bounds one run of the program's handler.
	Timeout time.Duration `yaml:"timeout" json:",omitempty" cfg:"min=100ms,max=1h"`
	// Grants are the skills that a turn may use whose request asks for it, within Limits: see Assistant.Intent.
	Grants []string     `yaml:"grants" json:",omitempty" cfg:"nonempty"`
	Limits IntentLimits `yaml:"limits" json:",omitzero"`
	// Approve asks an approver each time.
	Approve bool `yaml:"approve" json:",omitempty"`
}

// IntentLimits narrow the limits of a turn; zero narrows nothing.
type IntentLimits struct {
	// Agents is how many a turn may have, Calls how many each of them may propose.
	Agents int `yaml:"agents" json:",omitempty" cfg:"min=1,max=10000"`
	Calls  int `yaml:"calls" json:",omitempty" cfg:"min=1,max=10000"`
	// Tokens are what a turn may have spent when the orchestrator's model is asked.
	Tokens int `yaml:"tokens" json:",omitempty" cfg:"min=1,max=1000000000000"`
}

// IntentKind is a kind of entity.
type IntentKind struct {
	// Names are the entities with the phrases that name them.
	Names map[string][]string `yaml:"names" json:",omitempty" cfg:"required,single,key=name"`
}

// IntentReferences are ids that users may name.
type IntentReferences struct {
	// Begin are the beginnings of ids: doc_.
	Begin []string `yaml:"begin" json:",omitempty" cfg:"single"`
	// Grants say who may use which ids. Without any, and without the program's own store, no reference is usable.
	Grants []IntentGrant `yaml:"grants" json:",omitempty" cfg:"nonempty"`
}

// IntentGrant lets users use ids.
type IntentGrant struct {
	// Users are patterns of users.
	Users []string `yaml:"users" json:",omitempty" cfg:"required,single"`
	IDs   []string `yaml:"ids" json:",omitempty" cfg:"required,single"`
}

// IntentParser is a model that reads texts.
type IntentParser struct {
	Model string `yaml:"model" json:",omitempty" cfg:"required"`
	// Trust is below 1.
	Trust       Hundredths    `yaml:"trust" json:",omitempty"`
	Timeout     time.Duration `yaml:"timeout" json:",omitempty" cfg:"min=100ms,max=10m"`
	Concurrency int           `yaml:"concurrency" json:",omitempty" cfg:"min=1,max=10000"`
}

func (p *IntentParser) setDefaults() { *p = IntentParser{Trust: 75, Timeout: 10 * time.Second} }

// IntentBreaker says when a parser leaves and is tried again.
type IntentBreaker struct {
	Failures int           `yaml:"failures" json:",omitempty" cfg:"min=1,max=1000"`
	Window   time.Duration `yaml:"window" json:",omitempty" cfg:"min=1s,max=24h"`
	OpenFor  time.Duration `yaml:"open_for" json:",omitempty" cfg:"min=1s,max=24h"`
}

// IntentDetector looks for attacks in texts.
type IntentDetector struct {
	// Families are the modes by family: block, flag or ignore.
	Families map[string]string `yaml:"families" json:",omitempty" cfg:"key=command|sql|script|path|cloud|injection,enum=block|flag|ignore"`
	BlockAt  Hundredths        `yaml:"block_at" json:",omitempty"`
	FlagAt   Hundredths        `yaml:"flag_at" json:",omitempty"`
	// Classifier can raise what the rules found.
	Classifier IntentClassifier `yaml:"classifier" json:",omitzero"`
}

// IntentClassifier is a model, or a server of one's own, that scores texts.
type IntentClassifier struct {
	Model string `yaml:"model" json:",omitempty"`
	// URL is where {"text": …} is posted to, Token its bearer token.
	URL     Secret        `yaml:"url" json:",omitzero"`
	Token   Secret        `yaml:"token" json:",omitzero"`
	Timeout time.Duration `yaml:"timeout" json:",omitempty" cfg:"min=100ms,max=1m"`
}

// IsOn reports whether there is a classifier.
func (c IntentClassifier) IsOn() bool { return c.Model != "" || c.URL.IsSet() }

// IntentPolicy is what the provider of the actions allows. What its lists don't name is a mismatch.
type IntentPolicy struct {
	Actions   []string `yaml:"actions" json:",omitempty" cfg:"required"`
	Expertise []string `yaml:"expertise" json:",omitempty"`
	// Budgets are the greatest amounts by currency.
	Budgets    map[string]Number `yaml:"budgets" json:",omitempty" cfg:"key=name"`
	MaxResults int               `yaml:"max_results" json:",omitempty" cfg:"min=1,max=1000000"`
	MaxLength  int               `yaml:"max_length" json:",omitempty" cfg:"min=1,max=1000000"`
	// EarliestDays and LatestDays bound deadlines, in days from today.
	EarliestDays int          `yaml:"earliest_days" json:",omitempty" cfg:"min=1,max=36500"`
	LatestDays   int          `yaml:"latest_days" json:",omitempty" cfg:"min=1,max=36500"`
	Domains      []string     `yaml:"domains" json:",omitempty"`
	Topics       IntentTopics `yaml:"topics" json:",omitzero"`
	Forbid       IntentForbid `yaml:"forbid" json:",omitzero"`
	// SoftTolerance is by how much a number may be above its maximum and be a soft mismatch.
	SoftTolerance Hundredths `yaml:"soft_tolerance" json:",omitempty"`
	// Constraints are conditions of one's own.
	Constraints []IntentConstraint `yaml:"constraints" json:",omitempty" cfg:"nonempty"`
}

// IntentTopics are the topics that are allowed.
type IntentTopics struct {
	Allow    []string `yaml:"allow" json:",omitempty"`
	Patterns []string `yaml:"patterns" json:",omitempty"`
}

// IntentForbid is what no list and no person allows.
type IntentForbid struct {
	Actions   []string `yaml:"actions" json:",omitempty"`
	Expertise []string `yaml:"expertise" json:",omitempty"`
	Topics    []string `yaml:"topics" json:",omitempty"`
}

// IntentConstraint is a condition in CEL.
type IntentConstraint struct {
	ID     string `yaml:"id" json:",omitempty" cfg:"pattern=id"`
	When   string `yaml:"when" json:",omitempty" cfg:"required"`
	Then   string `yaml:"then" json:",omitempty" cfg:"required,enum=soft|hard|blocked"`
	Reason string `yaml:"reason" json:",omitempty"`
}

// IntentConfirm says when users are asked and how long they have.
type IntentConfirm struct {
	// From is the risk from which on a low vote asks.
	From    string        `yaml:"from" json:",omitempty" cfg:"enum=low|medium|high"`
	Timeout time.Duration `yaml:"timeout" json:",omitempty" cfg:"min=1s,max=24h"`
}

// IntentRate is how many requests of a user may come.
type IntentRate struct {
	PerMinute int `yaml:"per_minute" json:",omitempty" cfg:"required,min=1,max=1000000"`
	// Burst is how many of them at once; zero is PerMinute.
	Burst int `yaml:"burst" json:",omitempty" cfg:"min=1,max=1000000"`
}

// intentCheck looks at intents as the loader does at everything.
type intentCheck struct{ *loader }

// fillDefaults fills in the defaults of what isn't written.
func (l intentCheck) fillDefaults() {
	i := &l.cfg.Intent
	for _, d := range []struct {
		to    any
		value any
		at    []string
	}{
		{&i.Languages, []string{"en"}, []string{"languages"}},
		{&i.Currencies, []string{"EUR", "USD", "GBP", "CHF"}, []string{"currencies"}},
		{&i.Workers, 2, []string{"workers"}},
		{&i.Approve, "when_needed", []string{"approve"}},
		{&i.Hard, "approve", []string{"hard"}},
		{&i.Lifetime, 5 * time.Minute, []string{"lifetime"}},
		{&i.MaxText, 16 << 10, []string{"max_text"}},
		{&i.Texts, "digest", []string{"texts"}},
		{&i.Addresses, "short", []string{"addresses"}},
		{&i.ParserBreaker.Failures, 5, []string{"parser_breaker", "failures"}},
		{&i.ParserBreaker.Window, time.Minute, []string{"parser_breaker", "window"}},
		{&i.ParserBreaker.OpenFor, 30 * time.Second, []string{"parser_breaker", "open_for"}},
		{&i.Detector.BlockAt, Hundredths(80), []string{"detector", "block_at"}},
		{&i.Detector.FlagAt, Hundredths(40), []string{"detector", "flag_at"}},
		{&i.Policy.SoftTolerance, Hundredths(10), []string{"policy", "soft_tolerance"}},
		{&i.Confirm.From, "medium", []string{"confirm", "from"}},
		{&i.Confirm.Timeout, 5 * time.Minute, []string{"confirm", "timeout"}},
	} {
		if l.valueAt(append([]string{"intent"}, d.at...)...) == nil {
			reflect.ValueOf(d.to).Elem().Set(reflect.ValueOf(d.value))
		}
	}
}

// checkAll fills in the defaults, and refuses models, skills and currencies that aren't there.
func (l intentCheck) checkAll() {
	n := l.valueAt("intent")
	if n == nil || n.kind != mappingNode {
		return
	}
	l.fillDefaults()
	l.checkParsers(n.get("parsers"))
	l.checkClassifier(nodeBelow(n, "detector", "classifier"))
	known := slices.DeleteFunc(l.knownSkills(), func(s string) bool { return slices.Contains(orchestratorCalls, s) })
	if actions := n.get("actions"); actions != nil && actions.kind == mappingNode {
		for i := range actions.entries {
			a := &actions.entries[i]
			if s := a.val.get("skill"); s != nil && s.kind == scalarNode && !s.bad && s.text != "" && !l.namesMissing &&
				!slices.Contains(known, s.text) {
				l.out.add(s.pos, "intent.actions.%s.skill: %s", a.key, l.hideUnknown(s, "skill", s.text, known))
			}
			assistantsCheck(l).checkSkillNames(a.val.get("grants"))
			if args := a.val.get("arguments"); args != nil && a.val.get("skill") == nil {
				l.out.add(args.pos, "intent.actions.%s.arguments are for a skill; add skill: NAME beside them, or remove them", a.key)
			}
		}
	}
	if c := n.get("currency"); l.becameValue(c, l.cfg.Intent.Currency) && !slices.Contains(l.cfg.Intent.Currencies, c.text) {
		l.out.add(c.pos, "intent.currency: %s", l.hideUnknown(c, "currency", c.text, l.cfg.Intent.Currencies))
	}
	if n.get("policy") == nil && n.get("actions") != nil {
		l.out.add(n.pos, "intent.policy is missing: nothing would be allowed; write policy: {actions: [NAME]}")
	}
}

// checkClassifier refuses a classifier that is none, or two.
func (l intentCheck) checkClassifier(n *node) {
	if n == nil || n.kind != mappingNode {
		return
	}
	model, url := n.get("model"), n.get("url")
	switch {
	case (model == nil) == (url == nil):
		l.out.add(n.pos, "intent.detector.classifier needs one place to ask; write model or url")
	case model != nil:
		l.checkModelNames("intent.detector.classifier.model", model)
	}
	if token := n.get("token"); token != nil && url == nil {
		l.out.add(token.pos, "intent.detector.classifier.token is for a url; add url beside it, or remove it")
	}
}

// checkParsers refuses models that aren't there, and a trust that is a fixed rule's.
func (l intentCheck) checkParsers(n *node) {
	if n == nil || n.kind != mappingNode {
		return
	}
	for i := range n.entries {
		e := &n.entries[i]
		path := "intent.parsers." + e.key
		if m := e.val.get("model"); m != nil {
			l.checkModelNames(path+".model", m)
		}
		t := e.val.get("trust")
		if p, known := l.cfg.Intent.Parsers[e.key]; known && t != nil && !t.bad && (p.Trust <= 0 || p.Trust >= 100) {
			l.out.add(t.pos, "%s", fmt.Sprintf("%s.trust must be above 0 and below 1: a model is trusted less than fixed rules", path))
		}
	}
}
