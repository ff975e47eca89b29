package parse

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel/intent/grammar"
)

// setup is what a parser is before it sees a text. Exactly one of its fields is set.
type setup struct {
	Grammar *grammar.Options `json:"grammar,omitempty"`
	Words   *Words           `json:"words,omitempty"`
}

// task is one text.
type task struct {
	Text  string    `json:"text"`
	Today time.Time `json:"today"`
}

// job is a parser that is ready for texts, in whatever process.
type job struct {
	grammar *grammar.Grammar
	words   *Words
}

// newJob readies a parser.
func newJob(s setup) (*job, error) {
	j := &job{words: s.Words}
	if s.Grammar == nil {
		if s.Words == nil {
			return nil, errors.New("a parser has neither a grammar nor words for a model")
		}
		return j, nil
	}
	var err error
	j.grammar, err = grammar.Compile(*s.Grammar)
	return j, err
}

// askFunc asks a model about the text.
type askFunc func() (content string, err error)

// errNone is that a model found no action in the text.
var errNone = grammar.ErrNoAction

// read reads a text and returns a draft as JSON. The error is the grammar's, ask's, or says that the answer is no draft.
func (j *job) read(t task, ask askFunc) (json.RawMessage, error) {
	if j.grammar != nil {
		d, err := j.grammar.Read(t.Text, t.Today)
		if err != nil {
			return nil, err
		}
		return plainjson.Marshal(d)
	}
	content, err := ask()
	if err != nil {
		return nil, err
	}
	d, err := readAnswer(content)
	if err != nil {
		return nil, err
	}
	if d.Action == noneAction {
		return nil, errNone
	}
	return plainjson.Marshal(d)
}
