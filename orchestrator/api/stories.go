package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/policies"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/orchestrator/records/story"
)

// stories are the operations on what is kept of one call, and on the policies that decided.
type stories struct{ *API }

func (s stories) register() {
	register(s.API, operation{
		id: "show-story", method: http.MethodGet, path: "/v1/ledger/records/{id}/story", tag: "ledger", scopes: whoReviews,
		summary: "Show all that the ledger holds of one call",
		description: "Every gate, who was asked, what had come back before, the conversation's other calls. The id is that of a record, a " +
			"decision or a call. Values are `sealed`.",
	}, s.onShow)
	register(s.API, operation{
		id: "read-values", method: http.MethodPost, path: "/v1/ledger/records/{id}/values", tag: "ledger",
		scopes: []access.Scope{access.Values}, summary: "Show the story of a call with its values",
		description: "Request, mission, arguments, results, and what the model said: what the journal still keeps. That the token read them " +
			"is a record in the ledger first. A value that isn't there is `erased`, `expired` or `none`.",
	}, s.onRead)
	register(s.API, operation{
		id: "list-policies", method: http.MethodGet, path: "/v1/ledger/policies", tag: "ledger", scopes: whoReviews,
		summary: "List the policies that are kept", description: "The one that came in force last is first.",
	}, s.onPolicies)
	register(s.API, operation{
		id: "show-policy", method: http.MethodGet, path: "/v1/ledger/policies/{digest}", tag: "ledger", scopes: whoReviews,
		summary: "Show what a policy's digest stands for",
		description: "Configuration, skills, rules and prompts as they were, without secrets. The digest may be the beginning of one. With " +
			"`against`, `changes` says how that other policy differs.",
	}, s.onPolicy)
}

type toldStory struct {
	Body story.Story
}

func (s stories) onShow(ctx context.Context, _ access.Principal, in *recordID) (*toldStory, error) {
	told, err := s.o.Orchestrator.Parts().Stories.Tell(ctx, in.ID)
	return &toldStory{told}, err
}

func (s stories) onRead(ctx context.Context, p access.Principal, in *recordID) (*toldStory, error) {
	told, err := s.o.Orchestrator.Parts().Stories.TellWithValues(ctx, in.ID, story.Reader{By: p.Name, Via: via})
	return &toldStory{told}, err
}

type listedPolicies struct {
	Body struct {
		Data []policies.Item `json:"data" nullable:"false"`
	}
}

func (s stories) onPolicies(ctx context.Context, _ access.Principal, _ *struct{}) (*listedPolicies, error) {
	list, err := policies.List(ctx, s.o.Orchestrator.Parts().Store.Reader())
	out := &listedPolicies{}
	out.Body.Data = list
	return out, err
}

type policyInput struct {
	Digest  string `path:"digest" minLength:"4" maxLength:"71" pattern:"^(sha256:)?[0-9a-f]+$"`
	Against string `query:"against" maxLength:"71" pattern:"^((sha256:)?[0-9a-f]{4,})?$" doc:"Another policy's digest."`
}

type shownPolicy struct {
	Body struct {
		policies.Policy
		Changes []policies.Change `json:"changes,omitempty" doc:"How the policy against which it is held differs."`
	}
}

func (s stories) onPolicy(ctx context.Context, _ access.Principal, in *policyInput) (*shownPolicy, error) {
	out := &shownPolicy{}
	var err error
	if out.Body.Policy, err = s.findPolicy(ctx, in.Digest); err != nil || in.Against == "" {
		return out, err
	}
	other, err := s.findPolicy(ctx, in.Against)
	if err == nil {
		out.Body.Changes = policies.Diff(out.Body.Policy, other)
	}
	return out, err
}

// findPolicy returns a policy that is what its digest stands for.
func (s stories) findPolicy(ctx context.Context, begin string) (policies.Policy, error) {
	p, err := policies.Find(ctx, s.o.Orchestrator.Parts().Store.Reader(), begin)
	if err == nil {
		err = p.Verify()
	}
	switch {
	case errors.Is(err, policies.ErrUnknown):
		return p, problem.New(problem.NotFound, err.Error())
	case errors.Is(err, policies.ErrAmbiguous), errors.Is(err, policies.ErrTooLarge):
		return p, problem.New(problem.Conflict, err.Error())
	}
	return p, err
}
