package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// standings are the operations on standing approvals.
type standings struct{ *API }

func (s standings) register() {
	register(s.API, operation{
		id: "make-standing-approval", method: http.MethodPost, path: "/v1/approvals/{id}/stand", tag: "approvals", scopes: whoApproves,
		keyed: true, status: http.StatusCreated, summary: "Say yes to an approval and to calls like it",
		description: "A standing approval names the skill's digest, the exact targets and the user. It lifts the ask of one rule alone, " +
			"and never that of a tainted or degraded call.",
		fails: []problem.Code{problem.NotAllowed, problem.AlreadyDecided, problem.Stale},
	}, s.onStand)
	register(s.API, operation{
		id: "list-standing-approvals", method: http.MethodGet, path: "/v1/standing-approvals", tag: "approvals", scopes: whoApproves,
		summary: "List standing approvals",
	}, s.onList)
	register(s.API, operation{
		id: "revoke-standing-approval", method: http.MethodPost, path: "/v1/standing-approvals/{id}/revoke", tag: "approvals",
		scopes: whoApproves, keyed: true, summary: "Revoke a standing approval",
	}, s.onRevoke)
}

type standInput struct {
	ApprovalPath
	Body struct {
		Digest  string `json:"digest" minLength:"16" maxLength:"128" pattern:"^[0-9a-f]+$"`
		Uses    int    `json:"uses" minimum:"1" maximum:"20" doc:"How many calls it lets run, besides this one."`
		Seconds int    `json:"seconds" minimum:"1" maximum:"86400" doc:"How long it holds."`
	}
}

type standing struct{ Body approval.Standing }

func (s standings) onStand(ctx context.Context, p access.Principal, in *standInput) (*standing, error) {
	inbox, err := s.inbox()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeFor)
	defer cancel()
	made, err := inbox.Stand(ctx, approval.Answer{
		Approval: in.ID, Word: approval.Yes, Digest: in.Body.Digest, By: p.Name, Via: via, Principal: p.ID,
	}, approval.StandingTerms{Uses: in.Body.Uses, For: time.Duration(in.Body.Seconds) * time.Second})
	if err != nil {
		return nil, err
	}
	return &standing{made}, nil
}

type standingsInput struct {
	User  string `query:"user" maxLength:"128"`
	Skill string `query:"skill" maxLength:"128"`
	All   bool   `query:"all" doc:"List those too that hold no more."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	After string `query:"after" maxLength:"400" doc:"The next_cursor of the page before."`
}

func (s standings) onList(ctx context.Context, p access.Principal, in *standingsInput) (*page[approval.Standing], error) {
	inbox, err := s.inbox()
	if err != nil {
		return nil, err
	}
	list := []string{p.ID, "standings", in.User, in.Skill, strconv.FormatBool(in.All)}
	after, err := s.cursor.open(in.After, list...)
	if err != nil {
		return nil, err
	}
	f := approval.StandingFilter{User: in.User, Skill: in.Skill, All: in.All, After: after, Limit: in.Limit + 1}
	found, err := inbox.ListStanding(ctx, f)
	if err != nil {
		return nil, err
	}
	return newPage(found, in.Limit, func(last approval.Standing) string { return s.cursor.seal(last.ID, list...) }), nil
}

func (s standings) onRevoke(ctx context.Context, p access.Principal, in *struct{ ApprovalPath }) (*standing, error) {
	inbox, err := s.inbox()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeFor)
	defer cancel()
	ended, err := inbox.Revoke(ctx, in.ID, p.Name, via)
	if err != nil {
		return nil, err
	}
	return &standing{ended}, nil
}
