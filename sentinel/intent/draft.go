package intent

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
)

// Draft is what a parser read from a text: texts and numbers that nothing has checked. It is also the form in which
// models answer and in which processes of parsers write.
type Draft struct {
	Action      string           `json:"action"`
	Topic       string           `json:"topic,omitempty"`
	Expertise   []string         `json:"expertise,omitempty"`
	References  []string         `json:"references,omitempty"`
	Constraints DraftConstraints `json:"constraints"`
	// Confidence is how sure the parser is, from 0 to 1.
	Confidence float64 `json:"confidence"`
}

// DraftConstraints are the constraints of a Draft. Nil is none.
type DraftConstraints struct {
	Budget     *DraftMoney   `json:"budget,omitempty"`
	MaxResults *Decimal      `json:"max_results,omitempty"`
	MaxLength  *Decimal      `json:"max_length,omitempty"`
	Deadline   *string       `json:"deadline,omitempty"`
	Domains    []string      `json:"domains,omitempty"`
	Entities   []DraftEntity `json:"entities,omitempty"`
}

// DraftMoney is an amount in units of a currency, with at most two decimals.
type DraftMoney struct {
	Amount   Decimal `json:"amount"`
	Currency string  `json:"currency"`
}

// DraftEntity names an entity of a kind.
type DraftEntity struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Decimal is a number as it was written: digits, perhaps a sign and decimals, and no exponent.
type Decimal string

// MarshalJSON writes the number as it is.
func (d Decimal) MarshalJSON() ([]byte, error) {
	if !decimalRE.MatchString(string(d)) {
		return nil, ErrRange
	}
	return []byte(d), nil
}

// UnmarshalJSON reads a plain number; all else is ErrRange.
func (d *Decimal) UnmarshalJSON(raw []byte) error {
	if !decimalRE.Match(raw) {
		return ErrRange
	}
	*d = Decimal(raw)
	return nil
}

var decimalRE = regexp.MustCompile(`^-?[0-9]{1,20}(?:\.[0-9]{1,20})?$`)

// MaxDraft is the greatest size of a draft in bytes.
const MaxDraft = 16 << 10

// ErrDraft is returned by ReadDraft for what is no draft. Its text holds no word of what was read.
var ErrDraft = errors.New("what the parser gave is no intent: another schema, a field twice, or too long")

// ReadDraft reads a draft strictly: unknown fields, a field twice, another type, a number that isn't finite, anything
// behind it and invalid UTF-8 are ErrDraft.
func ReadDraft(raw []byte) (Draft, error) {
	if len(raw) > MaxDraft {
		return Draft{}, ErrDraft
	}
	var d Draft
	if err := jsonv2.Unmarshal(raw, &d, jsonv2.RejectUnknownMembers(true)); err != nil {
		return Draft{}, ErrDraft
	}
	if d.Confidence < 0 || d.Confidence > 1 || d.Action == "" {
		return Draft{}, ErrDraft
	}
	return d, nil
}

// Build makes an Intent of a draft. The error wraps an *UnknownError, or ErrTopic, ErrReference, ErrDomain, ErrTooMany,
// ErrRange or ErrDate: then it is no intent, and nothing of it may be used.
func (v *Vocabulary) Build(d Draft) (Intent, error) {
	b := builder{v: v}
	b.readAction(d.Action)
	b.readTopic(d.Topic)
	b.readExpertise(d.Expertise)
	b.readReferences(d.References)
	b.readConstraints(d.Constraints)
	if b.err != nil {
		return Intent{}, fmt.Errorf("the intent can't be built: %w", b.err)
	}
	return b.Intent, nil
}

// builder collects the parts of an intent, up to the first that is none.
type builder struct {
	Intent
	v   *Vocabulary
	err error
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *builder) readAction(name string) {
	a, err := b.v.Action(name)
	if err != nil {
		b.fail(err)
	}
	b.action = a
}

func (b *builder) readTopic(text string) {
	if text == "" {
		return
	}
	t, err := NewTopic(text)
	if err != nil {
		b.fail(err)
	}
	b.topic = t
}

func (b *builder) readExpertise(names []string) {
	b.expertise = collect(b, names, MaxListed, b.v.Expertise)
}

func (b *builder) readReferences(ids []string) {
	b.references = collect(b, ids, MaxReferences, NewReference)
}

// collect makes the parts of a list, each once, in their order. What is too much for one list fails.
func collect[T comparable, S any](b *builder, list []S, most int, one func(S) (T, error)) (out []T) {
	seen := map[T]bool{}
	for _, s := range list {
		part, err := one(s)
		if err != nil {
			b.fail(err)
			return nil
		}
		if seen[part] {
			continue
		}
		seen[part] = true
		if out = append(out, part); len(out) > most {
			b.fail(ErrTooMany)
			return nil
		}
	}
	return out
}

func (b *builder) readConstraints(d DraftConstraints) {
	c := &b.constraints
	if d.Budget != nil {
		c.budget, c.hasBudget = b.readMoney(*d.Budget), true
	}
	c.maxResults = b.readCount(d.MaxResults, MaxCount)
	c.maxLength = b.readCount(d.MaxLength, MaxCount)
	if d.Deadline != nil {
		day, err := ParseDay(*d.Deadline)
		if err != nil {
			b.fail(err)
		}
		c.deadline = day
	}
	c.domains = collect(b, d.Domains, MaxListed, NewDomain)
	c.entities = collect(b, d.Entities, MaxListed, func(e DraftEntity) (Entity, error) { return b.v.Entity(e.Kind, e.Name) })
}

func (b *builder) readMoney(d DraftMoney) Money {
	if !b.v.currencies[d.Currency] {
		b.fail(unknown("currency", d.Currency, b.v.Currencies()))
		return Money{}
	}
	minor, err := ParseAmount(string(d.Amount))
	if err != nil {
		b.fail(err)
	}
	return Money{minor, d.Currency}
}

// readCount reads a whole number from 1 on; 0 is none.
func (b *builder) readCount(n *Decimal, most int) int {
	if n == nil {
		return 0
	}
	i, err := strconv.Atoi(string(*n))
	if err != nil || i < 1 || i > most {
		b.fail(ErrRange)
		return 0
	}
	return i
}
