package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/skills"
)

// catalog lists skills.
type catalog struct{ *API }

func (s catalog) register() {
	register(s.API, operation{
		id: "list-skills", method: http.MethodGet, path: "/v1/skills", tag: "skills",
		scopes:  []access.Scope{access.Chat, access.Check, access.Call, access.Review, access.Admin},
		summary: "List the skills that the token may use",
	}, s.onList)
}

// skillEntry is a skill as a caller sees it. How it runs is the operator's to know.
type skillEntry struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Effect      skills.Effect   `json:"effect"`
	Reaches     skills.Reach    `json:"reaches"`
	Output      skills.Trust    `json:"output"`
	Approval    skills.Approval `json:"approval"`
	Digest      string          `json:"digest"`
	Parameters  json.RawMessage `json:"parameters" doc:"A JSON Schema of the arguments."`
}

type skillList struct {
	Body struct {
		Data []skillEntry `json:"data" nullable:"false"`
	}
}

func (s catalog) onList(_ context.Context, p access.Principal, _ *struct{}) (*skillList, error) {
	parts := s.o.Orchestrator.Parts()
	all, err := skills.NewScope(parts.Registry.Names()...)
	if err != nil {
		return nil, err
	}
	there := parts.LeaveOutWithdrawn(all)
	out := &skillList{}
	out.Body.Data = []skillEntry{}
	for _, name := range parts.Registry.Names() {
		k, ok := parts.Registry.Get(name)
		if !ok || !there.Allows(name) || isNative(name) || !p.Skills.Empty() && !p.Skills.Allows(name) {
			continue
		}
		spec := k.Spec()
		out.Body.Data = append(out.Body.Data, skillEntry{
			Name: name, Description: spec.Description, Effect: k.Effect(), Reaches: k.Reaches(), Output: spec.Output,
			Approval: spec.Approval, Digest: k.Digest(), Parameters: k.Parameters(),
		})
	}
	return out, nil
}

// isNative reports whether a name is one of the orchestrator's own calls, which no grant can hold.
func isNative(name string) bool {
	return len(name) > 6 && name[:6] == "agent." || name == "exec.commit"
}
