package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// ledgers are the operations on what is recorded.
type ledgers struct{ *API }

var whoReviews = []access.Scope{access.Review}

func (s ledgers) register() {
	register(s.API, operation{
		id: "list-records", method: http.MethodGet, path: "/v1/ledger/records", tag: "ledger", scopes: whoReviews,
		summary: "List records", description: "The newest first, unless `order` says otherwise. Filters match exactly, and all of them must.",
	}, s.onList)
	register(s.API, operation{
		id: "show-record", method: http.MethodGet, path: "/v1/ledger/records/{id}", tag: "ledger", scopes: whoReviews,
		summary: "Show a record and the others of its call", description: "The id is that of a record, a decision or a call.",
	}, s.onShow)
	register(s.API, operation{
		id: "prove-record", method: http.MethodGet, path: "/v1/ledger/records/{id}/proof", tag: "ledger", scopes: whoReviews,
		summary: "Prove that a record is in the ledger",
		description: "The proof holds without this server: the leaf's hash and its neighbours give the root that the head signs. " +
			"`leaf` and `hashes` are base64.",
	}, s.onProve)
	register(s.API, operation{
		id: "show-head", method: http.MethodGet, path: "/v1/ledger/head", tag: "ledger", scopes: whoReviews,
		summary:     "Show the newest signed head",
		description: "Keep heads elsewhere: `vedette ledger verify --head` finds a rollback up to the newest of them.",
	}, s.onHead)
}

type recordsInput struct {
	Query        string    `query:"q" maxLength:"4096" doc:"A line of terms: outcome:deny skill:email.* since:24h, for example."`
	User         string    `query:"user" maxLength:"256"`
	Conversation string    `query:"conversation" maxLength:"256"`
	Agent        string    `query:"agent" maxLength:"256"`
	Skill        string    `query:"skill" maxLength:"256"`
	Call         string    `query:"call" maxLength:"256"`
	Decision     string    `query:"decision" maxLength:"256"`
	Kind         string    `query:"kind" maxLength:"32"`
	Outcome      string    `query:"outcome" maxLength:"32"`
	Gate         string    `query:"gate" maxLength:"32"`
	Code         string    `query:"code" maxLength:"128"`
	By           string    `query:"by" maxLength:"256" doc:"Who answered a call that was held."`
	Since        time.Time `query:"since" doc:"The first moment."`
	Until        time.Time `query:"until" doc:"The first moment after."`
	Order        string    `query:"order" enum:"newest,oldest" default:"newest"`
	Limit        int       `query:"limit" minimum:"1" maximum:"999" default:"100"`
	After        string    `query:"after" maxLength:"400" doc:"The next_cursor of the page before."`
}

// readQuery returns what the query and the filters choose. conversations are the ids that Conversation stands for.
func (in *recordsInput) readQuery(now time.Time, conversations []string) (query.Query, error) {
	terms := []string{in.Query}
	if in.Conversation != "" {
		term := query.Term("conversation", conversations[0])
		for _, id := range conversations[1:] {
			term += "," + strconv.Quote(id)
		}
		terms = append(terms, term)
	}
	for _, f := range []struct{ key, value string }{
		{"user", in.User}, {"agent", in.Agent}, {"skill", in.Skill}, {"call", in.Call},
		{"decision", in.Decision}, {"kind", in.Kind}, {"outcome", in.Outcome}, {"gate", in.Gate}, {"code", in.Code}, {"by", in.By},
	} {
		if f.value != "" {
			terms = append(terms, query.Term(f.key, f.value))
		}
	}
	for key, t := range map[string]time.Time{"since": in.Since, "until": in.Until} {
		switch {
		case t.IsZero():
		case t.Year() < 1971 || t.Year() > 2200:
			return query.Query{}, problem.New(problem.Invalid, "since and until lie between 1971 and 2200")
		default:
			terms = append(terms, key+":"+t.UTC().Format(time.RFC3339Nano))
		}
	}
	q, err := query.Parse(strings.Join(terms, " "), now)
	var mistake *query.Error
	if errors.As(err, &mistake) {
		return q, problem.New(problem.Invalid, err.Error())
	}
	return q, err
}

// names are what binds a cursor: another query has other pages.
func (in *recordsInput) names(p access.Principal) []string {
	return []string{
		"records", in.Query, in.User, in.Conversation, in.Agent, in.Skill, in.Call, in.Decision, in.Kind, in.Outcome, in.Gate, in.Code, in.By,
		in.Since.UTC().String(), in.Until.UTC().String(), in.Order, p.ID,
	}
}

func (s ledgers) onList(ctx context.Context, p access.Principal, in *recordsInput) (*page[ledger.Record], error) {
	ids := append(s.listCalledSo(ctx, p, in.User, in.Conversation), in.Conversation) // an auditor's own id counts as it stands
	q, err := in.readQuery(time.Now(), ids)
	if err != nil {
		return nil, err
	}
	list := in.names(p)
	place, err := s.cursor.open(in.After, list...)
	if err != nil {
		return nil, err
	}
	var after *int64
	if place != "" {
		index, err := strconv.ParseInt(place, 10, 64)
		if err != nil {
			return nil, err
		}
		after = &index
	}
	read := q.ReadPage
	if in.Order == "oldest" {
		read = q.ReadOldest
	}
	l, found := s.o.Orchestrator.Parts().Ledger, []ledger.Record{}
	for range maxReads {
		var more []ledger.Record
		if more, after, err = read(ctx, &l.Reader, after, in.Limit-len(found)); err != nil {
			return nil, err
		}
		if found = append(found, more...); after == nil || len(found) == in.Limit {
			break
		}
	}
	if found, err = labels(s).conceal(ctx, p, found); err != nil {
		return nil, err
	}
	out := newPage(found, in.Limit, nil)
	if out.Body.HasMore = after != nil; out.Body.HasMore {
		out.Body.Next = s.cursor.seal(strconv.FormatInt(*after, 10), list...)
	}
	return out, nil
}

// maxReads is how often the ledger is read for one page, up to 1,000 records each time. A page is short
// where few of so many records match.
const maxReads = 20

type recordID struct {
	ID string `path:"id" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9_.:@-]+$"`
}

type foundRecord struct {
	Body struct {
		Record  ledger.Record   `json:"record"`
		Related []ledger.Record `json:"related" nullable:"false" doc:"The other records of its call."`
	}
}

func (s ledgers) onShow(ctx context.Context, p access.Principal, in *recordID) (*foundRecord, error) {
	l := s.o.Orchestrator.Parts().Ledger
	rec, err := findRecord(ctx, l, in.ID)
	if err != nil {
		return nil, err
	}
	seen, err := labels(s).conceal(ctx, p, []ledger.Record{rec})
	if err != nil || len(seen) == 0 {
		return nil, errors.Join(err, ledger.ErrNotFound)
	}
	out := &foundRecord{}
	out.Body.Record, out.Body.Related = rec, []ledger.Record{}
	if rec.Call == "" {
		return out, nil
	}
	all, err := l.List(ctx, ledger.Query{Call: rec.Call})
	if err != nil {
		return nil, err
	}
	all, err = labels(s).conceal(ctx, p, all)
	for _, other := range all {
		if other.ID != rec.ID {
			out.Body.Related = append(out.Body.Related, other)
		}
	}
	return out, err
}

// findRecord finds a record by its own id, else the first of a call or a decision.
func findRecord(ctx context.Context, l *ledger.Ledger, id string) (ledger.Record, error) {
	for _, q := range []ledger.Query{{ID: id, Limit: 1}, {Call: id, Limit: 1}, {Decision: id, Limit: 1}} {
		if found, err := l.List(ctx, q); err != nil || len(found) > 0 {
			return append(found, ledger.Record{})[0], err
		}
	}
	return ledger.Record{}, ledger.ErrNotFound
}

type recordProof struct {
	Body struct {
		ledger.Proof
		PublicKey string `json:"public_key" doc:"The ledger's key in the note form. Compare it with the one that you keep."`
	}
}

func (s ledgers) onProve(ctx context.Context, _ access.Principal, in *recordID) (*recordProof, error) {
	parts := s.o.Orchestrator.Parts()
	rec, err := findRecord(ctx, parts.Ledger, in.ID)
	if err != nil {
		return nil, err
	}
	out := &recordProof{}
	out.Body.PublicKey = parts.Keys.LedgerPublic()
	out.Body.Proof, err = parts.Ledger.Prove(ctx, rec.Index)
	return out, err
}

type signedHead struct {
	Body struct {
		Head      string `json:"head" doc:"The signed note: name, size, root, time, signature."`
		Size      int64  `json:"size" doc:"How many records it covers."`
		PublicKey string `json:"public_key"`
	}
}

func (s ledgers) onHead(ctx context.Context, _ access.Principal, _ *struct{}) (*signedHead, error) {
	parts := s.o.Orchestrator.Parts()
	signed, err := parts.Ledger.ExportHead(ctx)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, problem.New(problem.NotFound, "the ledger has no records yet")
	}
	if err != nil {
		return nil, err
	}
	head, err := ledger.ParseHead(signed, parts.Keys.LedgerPublic())
	if err != nil {
		return nil, err
	}
	out := &signedHead{}
	out.Body.Head, out.Body.Size, out.Body.PublicKey = string(signed), head.Size, parts.Keys.LedgerPublic()
	return out, nil
}
