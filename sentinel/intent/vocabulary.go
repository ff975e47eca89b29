package intent

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/vedette-dev/vedette/skills"
)

// Risk says what an action can do harm to. Its zero value is High.
type Risk uint8

// The risks.
const (
	High Risk = iota
	Low
	Medium
)

var riskWords = map[Risk]string{Low: "low", Medium: "medium", High: "high"}

// String is low, medium or high.
func (r Risk) String() string {
	if word, ok := riskWords[r]; ok {
		return word
	}
	return "high"
}

// ParseRisk reads low, medium or high.
func ParseRisk(s string) (Risk, error) {
	for r, word := range riskWords {
		if word == s {
			return r, nil
		}
	}
	return High, fmt.Errorf("%q is no risk; use low, medium or high", s)
}

// AtLeast reports whether the risk is as great as another or greater.
func (r Risk) AtLeast(other Risk) bool { return r.rank() >= other.rank() }

func (r Risk) rank() int {
	switch r {
	case Low:
		return 1
	case Medium:
		return 2
	}
	return 3
}

// Action is something that an intent can ask for: a name of a vocabulary. The zero Action is none.
type Action struct{ name string }

// String is the action's name.
func (a Action) String() string { return a.name }

// Expertise is a field of knowledge: a name of a vocabulary. The zero Expertise is none.
type Expertise struct{ name string }

// String is the expertise's name.
func (e Expertise) String() string { return e.name }

// Entity is a thing of a kind that an operator lists: a region, a department. The zero Entity is none.
type Entity struct{ kind, name string }

// Kind is the entity's kind.
func (e Entity) Kind() string { return e.kind }

// Name is the entity's name within its kind.
func (e Entity) Name() string { return e.name }

// VocabularyOptions are the closed lists of an operator. All names are a letter, then up to 63 small letters, digits
// and underscores.
type VocabularyOptions struct {
	// Actions are the actions with their risks.
	Actions map[string]Risk
	// Expertise are the fields of knowledge.
	Expertise []string
	// Entities are the names of each kind of entity.
	Entities map[string][]string
	// Currencies are the codes (ISO 4217) that amounts may have. None is EUR, USD, GBP and CHF.
	Currencies []string
}

// Vocabulary is a set of closed lists. It doesn't change and is safe for concurrent use. The zero Vocabulary knows
// nothing, so it builds no Intent.
type Vocabulary struct {
	actions    map[string]Risk
	expertise  map[string]bool
	entities   map[string]map[string]bool
	currencies map[string]bool
}

var (
	nameRE     = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	currencyRE = regexp.MustCompile(`^[A-Z]{3}$`)
)

// ValidName reports whether a text can be the name of an action, an expertise or an entity.
func ValidName(s string) bool { return nameRE.MatchString(s) }

// NewVocabulary returns the vocabulary of closed lists. The error joins *skills.PathError values, with paths such as
// actions.find_experts.
func NewVocabulary(o VocabularyOptions) (*Vocabulary, error) {
	v := &Vocabulary{actions: maps.Clone(o.Actions), expertise: map[string]bool{}, entities: map[string]map[string]bool{},
		currencies: map[string]bool{}}
	var errs []error
	check := func(path, name string) {
		if !ValidName(name) {
			errs = append(errs, &skills.PathError{Path: path,
				Msg: fmt.Sprintf("the name %q must be a small letter, then up to 63 small letters, digits and underscores", name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Actions)) {
		check("actions."+name, name)
	}
	for _, name := range o.Expertise {
		check("expertise."+name, name)
		v.expertise[name] = true
	}
	for _, kind := range slices.Sorted(maps.Keys(o.Entities)) {
		check("entities."+kind, kind)
		v.entities[kind] = map[string]bool{}
		for _, name := range o.Entities[kind] {
			check("entities."+kind+"."+name, name)
			v.entities[kind][name] = true
		}
	}
	if len(o.Currencies) == 0 {
		o.Currencies = []string{"EUR", "USD", "GBP", "CHF"}
	}
	for i, code := range o.Currencies {
		if !currencyRE.MatchString(code) {
			errs = append(errs, &skills.PathError{Path: fmt.Sprintf("currencies[%d]", i), Msg: "must be a code of three capitals such as EUR"})
		}
		v.currencies[code] = true
	}
	return v, errors.Join(errs...)
}

// UnknownError is a name that a vocabulary doesn't have. Its text holds no word of a user.
type UnknownError struct {
	// What is action, expertise, entity or currency.
	What string
	// Near is the known name that was probably meant; empty for none.
	Near string
}

// Error says what is unknown.
func (e *UnknownError) Error() string {
	if e.Near != "" {
		return fmt.Sprintf("the %s is unknown; did you mean %q?", e.What, e.Near)
	}
	return fmt.Sprintf("the %s is unknown", e.What)
}

func unknown(what, got string, known []string) error {
	return &UnknownError{What: what, Near: skills.Nearest(got, known)}
}

// Action returns the action of that name, or an *UnknownError.
func (v *Vocabulary) Action(name string) (Action, error) {
	if _, ok := v.actions[name]; !ok {
		return Action{}, unknown("action", name, v.Actions())
	}
	return Action{name}, nil
}

// Risk is the risk of an action; one that is unknown is High.
func (v *Vocabulary) Risk(a Action) Risk { return v.actions[a.name] }

// Expertise returns the expertise of that name, or an *UnknownError.
func (v *Vocabulary) Expertise(name string) (Expertise, error) {
	if !v.expertise[name] {
		return Expertise{}, unknown("expertise", name, v.ListExpertise())
	}
	return Expertise{name}, nil
}

// Entity returns the entity of a kind, or an *UnknownError.
func (v *Vocabulary) Entity(kind, name string) (Entity, error) {
	if !v.entities[kind][name] {
		return Entity{}, unknown("entity", name, v.EntitiesOf(kind))
	}
	return Entity{kind, name}, nil
}

// Actions lists the names of the actions.
func (v *Vocabulary) Actions() []string { return slices.Sorted(maps.Keys(v.actions)) }

// ListExpertise lists the names of the fields of knowledge.
func (v *Vocabulary) ListExpertise() []string { return slices.Sorted(maps.Keys(v.expertise)) }

// Kinds lists the kinds of entities.
func (v *Vocabulary) Kinds() []string { return slices.Sorted(maps.Keys(v.entities)) }

// EntitiesOf lists the names of the entities of a kind.
func (v *Vocabulary) EntitiesOf(kind string) []string {
	return slices.Sorted(maps.Keys(v.entities[kind]))
}

// Currencies lists the codes that amounts may have.
func (v *Vocabulary) Currencies() []string { return slices.Sorted(maps.Keys(v.currencies)) }
