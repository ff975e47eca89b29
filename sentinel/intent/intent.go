package intent

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/vedette-dev/vedette/internal/plainjson"
)

// Intent is what a parser made of a text: one action and its typed parameters. It doesn't change; Vocabulary.Build
// alone makes one. The zero Intent has no action.
type Intent struct {
	action      Action
	topic       Topic
	expertise   []Expertise
	references  []Reference
	constraints Constraints
}

// Action is what is asked for.
func (i Intent) Action() Action { return i.action }

// Topic is what it is about; zero for none.
func (i Intent) Topic() Topic { return i.topic }

// Expertise are the fields of knowledge asked for, each once, in their order.
func (i Intent) Expertise() []Expertise { return slices.Clone(i.expertise) }

// References are the ids that the user names, each once, in their order.
func (i Intent) References() []Reference { return slices.Clone(i.references) }

// Constraints are the limits that the user sets.
func (i Intent) Constraints() Constraints { return i.constraints }

// IsZero reports whether there is no intent.
func (i Intent) IsZero() bool { return i.action == Action{} }

// Constraints are the limits that a user sets. What is zero isn't set. There are no others: what a parser adds has no
// field to go to.
type Constraints struct {
	budget     Money
	hasBudget  bool
	maxResults int
	maxLength  int
	deadline   Day
	domains    []Domain
	entities   []Entity
}

// Budget is the most that may be spent; ok is false where no budget is set. A budget of nothing is one.
func (c Constraints) Budget() (m Money, ok bool) { return c.budget, c.hasBudget }

// MaxResults is how many results are wanted at most; 0 is not set.
func (c Constraints) MaxResults() int { return c.maxResults }

// MaxLength is how many words a text may have at most; 0 is not set.
func (c Constraints) MaxLength() int { return c.maxLength }

// Deadline is until when it is wanted; the zero Day is not set.
func (c Constraints) Deadline() Day { return c.deadline }

// Domains are hosts to which the work is bound.
func (c Constraints) Domains() []Domain { return slices.Clone(c.domains) }

// Entities are things that the work is about, of the operator's lists.
func (c Constraints) Entities() []Entity { return slices.Clone(c.entities) }

// The canonical form: fields in the order of their names, those that are not set left out, amounts in hundredths. All
// texts are letters, digits and a few marks, so it is RFC 8785 as it is written.
type (
	canonicalIntent struct {
		Action      string                `json:"action"`
		Constraints *canonicalConstraints `json:"constraints,omitempty"`
		ContentRefs []string              `json:"content_refs,omitempty"`
		Expertise   []string              `json:"expertise,omitempty"`
		TopicID     string                `json:"topic_id,omitempty"`
	}
	canonicalConstraints struct {
		Deadline   string            `json:"deadline,omitempty"`
		Domains    []string          `json:"domains,omitempty"`
		Entities   []canonicalEntity `json:"entities,omitempty"`
		MaxBudget  *canonicalMoney   `json:"max_budget,omitempty"`
		MaxLength  int               `json:"max_length,omitempty"`
		MaxResults int               `json:"max_results,omitempty"`
	}
	canonicalEntity struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	}
	canonicalMoney struct {
		Currency string `json:"currency"`
		Minor    int64  `json:"minor"`
	}
)

// canonical returns the intent's fields for its canonical form.
func (i Intent) canonical() canonicalIntent {
	return canonicalIntent{
		Action: i.action.name, TopicID: i.topic.id, Constraints: i.constraints.canonical(),
		Expertise: texts(i.expertise), ContentRefs: texts(i.references),
	}
}

// canonical returns the constraints for their canonical form, nil where none is set.
func (c Constraints) canonical() *canonicalConstraints {
	out := canonicalConstraints{Deadline: c.deadline.String(), Domains: texts(c.domains), MaxLength: c.maxLength, MaxResults: c.maxResults}
	for _, e := range c.entities {
		out.Entities = append(out.Entities, canonicalEntity{e.kind, e.name})
	}
	if c.hasBudget {
		out.MaxBudget = &canonicalMoney{c.budget.currency, c.budget.minor}
	}
	if c.IsZero() {
		return nil
	}
	return &out
}

// IsZero reports whether no constraint is set.
func (c Constraints) IsZero() bool {
	return !c.hasBudget && c.maxResults == 0 && c.maxLength == 0 && c.deadline.IsZero() && len(c.domains) == 0 && len(c.entities) == 0
}

// texts lists parts as texts, nil for none.
func texts[T interface{ String() string }](list []T) []string {
	var out []string
	for _, one := range list {
		out = append(out, one.String())
	}
	return out
}

// Canonical is the intent as canonical JSON (RFC 8785). It holds values.
func (i Intent) Canonical() []byte {
	b, _ := plainjson.Marshal(i.canonical()) // plain data
	return b
}

// Digest is the SHA-256 of the canonical JSON, in hexadecimal. It is a value: an intent
// that can be guessed can be compared.
func (i Intent) Digest() string {
	sum := sha256.Sum256(i.Canonical())
	return hex.EncodeToString(sum[:])
}

// Equal reports whether two intents say the same.
func (i Intent) Equal(other Intent) bool { return string(i.Canonical()) == string(other.Canonical()) }
