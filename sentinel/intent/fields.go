package intent

import (
	"strconv"
	"strings"
)

// Field is one part of an intent as text.
type Field struct {
	Name string `json:"field"`
	// Value is empty where the intent has none.
	Value string `json:"value"`
}

// FieldNames lists the names of an intent's fields in the order in which people read them.
func FieldNames() []string {
	return []string{"action", "topic", "expertise", "references", "budget", "max_results", "max_length", "deadline", "domains", "entities"}
}

// Fields are the parts of the intent as texts, one for each of FieldNames.
func (i Intent) Fields() []Field {
	c := i.constraints
	budget := ""
	if c.hasBudget {
		budget = c.budget.String()
	}
	entities := make([]string, len(c.entities))
	for n, e := range c.entities {
		entities[n] = e.kind + "=" + e.name
	}
	values := []string{
		i.action.name, i.topic.id, join(texts(i.expertise)), join(texts(i.references)), budget, count(c.maxResults), count(c.maxLength),
		c.deadline.String(), join(texts(c.domains)), join(entities),
	}
	out := make([]Field, len(values))
	for n, name := range FieldNames() {
		out[n] = Field{name, values[n]}
	}
	return out
}

func join(list []string) string { return strings.Join(list, ", ") }

func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Difference is one field in which two intents differ.
type Difference struct {
	Name  string `json:"field"`
	One   string `json:"one"`
	Other string `json:"other"`
}

// Diff lists the fields in which the intent differs from another.
func (i Intent) Diff(other Intent) (out []Difference) {
	theirs := other.Fields()
	for n, f := range i.Fields() {
		if f.Value != theirs[n].Value {
			out = append(out, Difference{f.Name, f.Value, theirs[n].Value})
		}
	}
	return out
}

// Draft returns the intent as a draft, from which Build makes the same one.
func (i Intent) Draft() Draft {
	c := content{}
	c.setIntent(i)
	return c.draft()
}
