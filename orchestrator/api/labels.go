package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// labels are the operations on what reviewers say of decisions.
type labels struct{ *API }

// whoLabels are the scopes that say something of decisions, whoSeesLabels those that see what was said.
var (
	whoLabels     = []access.Scope{access.Label}
	whoSeesLabels = []access.Scope{access.Label, access.Review}
)

func (s labels) register() {
	register(s.API, operation{
		id: "put-label", method: http.MethodPost, path: "/v1/ledger/records/{id}/labels", tag: "ledger", scopes: whoLabels, keyed: true,
		status: http.StatusCreated, summary: "Say that a decision was right or wrong",
		description: "Who says it is the token's principal, and their newest word stands. A decision about which a person was asked " +
			"counts as `ask`, whatever they answered. The note is sealed in the journal, and erased with the values of the call's user.",
	}, s.onPut)
	register(s.API, operation{
		id: "list-labels", method: http.MethodGet, path: "/v1/ledger/labels", tag: "ledger", scopes: whoSeesLabels,
		summary: "List labels",
		description: "The newest first. A token with the scope `label` sees what others said of decisions that it has labelled itself, " +
			"so that two reviewers don't copy each other.",
	}, s.onList)
	register(s.API, operation{
		id: "list-disputes", method: http.MethodGet, path: "/v1/ledger/disputes", tag: "ledger", scopes: whoSeesLabels,
		summary: "List decisions of which reviewers said different things", description: "As blind as the list of labels.",
	}, s.onDisputes)
	register(s.API, operation{
		id: "list-queue", method: http.MethodGet, path: "/v1/ledger/queue", tag: "ledger", scopes: whoLabels,
		summary: "List decisions that wait for this reviewer's word",
		description: "All denials, all asks, the first calls of a skill, and one in a hundred of the other allowed calls; the newest " +
			"first. Records hold no values.",
	}, s.onQueue)
}

// viewerOf is who must not see yet what others said; empty for a token that labels nothing.
func viewerOf(p access.Principal) string {
	if p.May(access.Label) {
		return p.Name
	}
	return ""
}

type labelInput struct {
	ID   string `path:"id" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9_.:@-]+$" doc:"Of a record, a decision or a call."`
	Body struct {
		Word   label.Word `json:"word" enum:"right,wrong,unsure"`
		Should string     `json:"should,omitempty" enum:"allow,ask,deny" doc:"What a wrong one should have been."`
		Note   string     `json:"note,omitempty" maxLength:"4096" doc:"The reviewer's own words."`
	}
}

type oneLabel struct{ Body label.Label }

func (s labels) onPut(ctx context.Context, p access.Principal, in *labelInput) (*oneLabel, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeFor) // it isn't lost with the caller
	defer cancel()
	made, err := s.o.Orchestrator.Parts().Labels.Put(ctx, label.Said{
		Of: in.ID, Word: in.Body.Word, Should: in.Body.Should, Note: in.Body.Note, By: p.Name, Via: via,
	})
	if err != nil {
		return nil, err
	}
	return &oneLabel{made}, nil
}

type labelsInput struct {
	Record   string `query:"record" maxLength:"64" doc:"The id of a decision's record."`
	By       string `query:"by" maxLength:"256"`
	User     string `query:"user" maxLength:"256" doc:"Whose call it was."`
	Skill    string `query:"skill" maxLength:"256"`
	Word     string `query:"word" enum:"right,wrong,unsure"`
	Replaced bool   `query:"replaced" doc:"List those too in whose place their reviewers said something else."`
	Limit    int    `query:"limit" minimum:"1" maximum:"999" default:"100"`
	After    string `query:"after" maxLength:"400" doc:"The next_cursor of the page before."`
}

func (s labels) onList(ctx context.Context, p access.Principal, in *labelsInput) (*page[label.Label], error) {
	list := []string{p.ID, "labels", in.Record, in.By, in.User, in.Skill, in.Word, strconv.FormatBool(in.Replaced)}
	after, err := s.cursor.open(in.After, list...)
	if err != nil {
		return nil, err
	}
	found, err := s.o.Orchestrator.Parts().Labels.List(ctx, label.Filter{
		Record: in.Record, By: in.By, User: in.User, Skill: in.Skill, Word: label.Word(in.Word), Viewer: viewerOf(p), All: in.Replaced,
		After: after, Limit: in.Limit + 1,
	})
	if err != nil {
		return nil, err
	}
	return newPage(found, in.Limit, func(last label.Label) string { return s.cursor.seal(last.ID, list...) }), nil
}

type disputesInput struct {
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

type disputeList struct {
	Body struct {
		Data []label.Dispute `json:"data" nullable:"false"`
	}
}

func (s labels) onDisputes(ctx context.Context, p access.Principal, in *disputesInput) (*disputeList, error) {
	found, err := s.o.Orchestrator.Parts().Labels.Disputes(ctx, viewerOf(p), in.Limit)
	out := &disputeList{}
	out.Body.Data = append([]label.Dispute{}, found...)
	return out, err
}

type queueInput struct {
	Why   string `query:"why" enum:"denied,asked,new_skill,sampled" doc:"The one reason for which they wait."`
	Limit int    `query:"limit" minimum:"1" maximum:"999" default:"100"`
	After string `query:"after" maxLength:"400" doc:"The next_cursor of the page before."`
}

func (s labels) onQueue(ctx context.Context, p access.Principal, in *queueInput) (*page[label.Queued], error) {
	list := []string{p.ID, "queue", in.Why}
	place, err := s.cursor.open(in.After, list...)
	if err != nil {
		return nil, err
	}
	f := label.QueueFilter{Reviewer: p.Name, Why: in.Why, Limit: in.Limit + 1}
	if place != "" {
		before, err := strconv.ParseInt(place, 10, 64)
		if err != nil {
			return nil, err
		}
		f.Before = &before
	}
	found, err := s.o.Orchestrator.Parts().Labels.Queue(ctx, f)
	if err != nil {
		return nil, err
	}
	return newPage(found, in.Limit, func(last label.Queued) string {
		return s.cursor.seal(strconv.FormatInt(last.Record.Index, 10), list...)
	}), nil
}

// conceal leaves out of records what a reviewer must not see yet.
func (s labels) conceal(ctx context.Context, p access.Principal, list []ledger.Record) ([]ledger.Record, error) {
	viewer := viewerOf(p)
	if viewer == "" {
		return list, nil
	}
	return s.o.Orchestrator.Parts().Labels.Conceal(ctx, viewer, list)
}

// describeLabel is the problem of an error of the labels.
func describeLabel(err error) *problem.Problem {
	switch {
	case errors.Is(err, label.ErrUnknown):
		return problem.New(problem.NotFound, err.Error())
	case errors.Is(err, label.ErrLabel):
		return problem.New(problem.Invalid, cutText(err.Error()))
	}
	return nil
}
