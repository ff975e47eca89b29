package main

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	_ "modernc.org/sqlite" // the driver

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/intake"
	"github.com/vedette-dev/vedette/sentinel/intent"
)

//go:embed library.sql
var schema string

// library has the experts, documents and proposals.
type library struct{ db *sql.DB }

// openLibrary opens the database and fills an empty one.
func openLibrary(ctx context.Context, file string) (*library, error) {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &library{db}, nil
}

func (l *library) close() error { return l.db.Close() }

// Resolve lets users name the documents that they own.
func (l *library) Resolve(ctx context.Context, user string, r intent.Reference) error {
	var one int
	err := l.db.QueryRowContext(ctx, `SELECT 1 FROM documents WHERE id = ? AND owner = ?`, r.String(), user).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return intake.ErrNoReference
	}
	return err
}

// handlers are the functions that act, each with parameters of its own type.
func (l *library) handlers() map[string]assembly.IntentHandler {
	return map[string]assembly.IntentHandler{
		"find_experts":     intake.Typed(readSearch, func(ctx context.Context, s search) (any, error) { return l.findExperts(ctx, s) }),
		"summarize":        intake.Typed(readReading, func(ctx context.Context, r reading) (any, error) { return l.summarize(ctx, r) }),
		"draft_proposal":   intake.Typed(readProject, func(ctx context.Context, p project) (any, error) { return l.draftProposal(ctx, p) }),
		"analyze_document": intake.Typed(readReading, func(ctx context.Context, r reading) (any, error) { return l.analyze(ctx, r) }),
	}
}

// search is what find_experts looks for.
type search struct {
	topic     intent.Topic
	expertise []intent.Expertise
	budget    int64 // in cents; 0 is none
	limit     int
}

// defaultResults is how many experts are found where the user says no number.
const defaultResults = 5

func readSearch(t intent.Trusted) (search, error) {
	c := t.Constraints()
	s := search{topic: t.Topic(), expertise: t.Expertise(), limit: cmp.Or(c.MaxResults(), defaultResults)}
	if m, ok := c.Budget(); ok {
		s.budget = m.Minor()
	}
	return s, nil
}

// expert is one whom find_experts found.
type expert struct {
	Name      string `json:"name"`
	Expertise string `json:"expertise"`
	DayRate   string `json:"day_rate"`
}

func (l *library) findExperts(ctx context.Context, s search) ([]expert, error) {
	fields, err := json.Marshal(namesOf(s.expertise))
	if err != nil {
		return nil, err
	}
	topic := s.topic.String()
	rows, err := l.db.QueryContext(ctx, `SELECT name, expertise, day_rate FROM experts
		WHERE (? = '' OR topic = ?) AND (? = 0 OR day_rate <= ?)
		AND (json_array_length(?) = 0 OR expertise IN (SELECT value FROM json_each(?)))
		ORDER BY day_rate, name LIMIT ?`, topic, topic, s.budget, s.budget, string(fields), string(fields), s.limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	out := []expert{}
	for rows.Next() {
		var e expert
		var cents int64
		if err := rows.Scan(&e.Name, &e.Expertise, &cents); err != nil {
			return nil, err
		}
		e.DayRate = euros(cents)
		out = append(out, e)
	}
	return out, rows.Err()
}

// reading are the documents that a user wants read.
type reading struct {
	user      string
	documents []intent.Reference
	words     int
}

// defaultWords is the length of a summary where the user says none.
const defaultWords = 40

func readReading(t intent.Trusted) (reading, error) {
	r := reading{t.User(), t.References(), cmp.Or(t.Constraints().MaxLength(), defaultWords)}
	if len(r.documents) == 0 {
		return r, errors.New("it names no document")
	}
	return r, nil
}

// open reads a document of the user's.
func (l *library) open(ctx context.Context, user string, r intent.Reference) (title, body string, err error) {
	err = l.db.QueryRowContext(ctx, `SELECT title, body FROM documents WHERE id = ? AND owner = ?`, r.String(), user).Scan(&title, &body)
	return title, body, err
}

// summary is the beginning of a document.
type summary struct {
	Document string `json:"document"`
	Title    string `json:"title"`
	Summary  string `json:"summary"`
}

// summarize gives whole sentences from the beginning of each document, as many as fit.
func (l *library) summarize(ctx context.Context, r reading) ([]summary, error) {
	var out []summary
	for _, d := range r.documents {
		title, body, err := l.open(ctx, r.user, d)
		if err != nil {
			return nil, err
		}
		out = append(out, summary{d.String(), title, firstSentences(body, r.words)})
	}
	return out, nil
}

// firstSentences are those that have at most n words together; the first n words where the first sentence is longer.
func firstSentences(text string, n int) string {
	words := strings.Fields(text)
	if len(words) <= n {
		return strings.Join(words, " ")
	}
	for to := n; to > 0; to-- {
		if strings.HasSuffix(words[to-1], ".") {
			return strings.Join(words[:to], " ")
		}
	}
	return strings.Join(words[:n], " ") + " …"
}

// analysis is what analyze_document counts.
type analysis struct {
	Document  string   `json:"document"`
	Words     int      `json:"words"`
	Sentences int      `json:"sentences"`
	Most      []string `json:"most_frequent"`
}

func (l *library) analyze(ctx context.Context, r reading) ([]analysis, error) {
	var out []analysis
	for _, d := range r.documents {
		_, body, err := l.open(ctx, r.user, d)
		if err != nil {
			return nil, err
		}
		words := strings.FieldsFunc(strings.ToLower(body), func(c rune) bool { return !unicode.IsLetter(c) })
		out = append(out, analysis{d.String(), len(words), strings.Count(body, "."), mostFrequent(words, 3)})
	}
	return out, nil
}

// mostFrequent are the n longer words that stand most often, those of equal number by their letters.
func mostFrequent(words []string, n int) []string {
	const long = 5
	count := map[string]int{}
	for _, w := range words {
		if len(w) >= long {
			count[w]++
		}
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	return all[:min(n, len(all))]
}

// project is what a proposal is for, by whose intent.
type project struct {
	search
	user, intent string
}

func readProject(t intent.Trusted) (project, error) {
	s, err := readSearch(t)
	if err == nil && s.topic.String() == "" {
		err = errors.New("it has no topic")
	}
	return project{s, t.User(), t.ID()}, err
}

// proposal is a draft that is kept.
type proposal struct {
	ID   int64  `json:"id"`
	Text string `json:"text"`
}

// draftProposal puts a proposal together and keeps it for the user.
func (l *library) draftProposal(ctx context.Context, p project) (proposal, error) {
	found, err := l.findExperts(ctx, search{expertise: p.expertise, budget: p.budget, limit: 2})
	if err != nil {
		return proposal{}, err
	}
	var names []string
	for _, e := range found {
		names = append(names, e.Name)
	}
	text := "Proposal on " + strings.ReplaceAll(p.topic.String(), "_", " ") + ". Team: " + strings.Join(names, ", ") + "."
	if p.budget > 0 {
		text += " Budget: " + euros(p.budget) + "."
	}
	r, err := l.db.ExecContext(ctx, `INSERT INTO proposals (owner, intent, topic, text) VALUES (?, ?, ?, ?)`,
		p.user, p.intent, p.topic.String(), text)
	if err != nil {
		return proposal{}, err
	}
	id, err := r.LastInsertId()
	return proposal{id, text}, err
}

func euros(cents int64) string { return fmt.Sprintf("%d.%02d EUR", cents/100, cents%100) }

func namesOf[T fmt.Stringer](list []T) []string {
	out := []string{}
	for _, one := range list {
		out = append(out, one.String())
	}
	return out
}
