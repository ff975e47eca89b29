package sentinel

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/internal/textcut"
	"github.com/vedette-dev/vedette/skills"
)

// Edited says that a person gave a call other arguments when they were asked about it.
type Edited struct {
	// By and Via are the approver's; Decision is the id of the decision about the call as it was.
	By, Via, Decision string
	// Digest is that of the call with the person's arguments. It is another than the call's where
	// rules rewrote those.
	Digest string
}

// edit is what a person wants to run in place of a call.
type edit struct {
	args              json.RawMessage
	by, via, decision string
	proposed          string // the keyed digest of the call that it is about; empty in the process that asked
}

// valueEdit names the arguments that a person gave a call.
const valueEdit = "edit"

// CanonicalArgs returns the RFC 8785 form of arguments and their Go values, numbers as
// json.Number. The error is a *CallError for arguments that no call can have.
func CanonicalArgs(raw []byte) (canonical string, parsed map[string]any, err error) {
	return canonicalize(raw)
}

// errSecretEdited refuses an edit that would change what its person was not shown.
var errSecretEdited = errors.New("arguments that hold secrets can't be edited; leave them as they are shown, or leave them out")

// CheckEdit refuses an edit that changes an argument which holds a secret: a person is shown the
// size of it alone. shown are the arguments as they were shown, edited those of the edit.
func CheckEdit(s *skills.Skill, shown, edited map[string]any) error {
	_, err := keepSecrets(s, shown, shown, edited)
	return err
}

// keepSecrets returns the edited arguments with the secrets of the call as it was in their places.
func keepSecrets(s *skills.Skill, was, shown, edited map[string]any) (map[string]any, error) {
	out := maps.Clone(edited)
	sized := s.WithSizedSecrets(edited)
	for k, v := range edited {
		hidden := !reflect.DeepEqual(shown[k], was[k])
		switch {
		case reflect.DeepEqual(sized[k], v) && !hidden: // nothing in it is secret
		case !reflect.DeepEqual(shown[k], v):
			return nil, errSecretEdited
		default:
			out[k] = was[k]
		}
	}
	return out, nil
}

// CodeEditGone is the code of a call that a person edited and that can't be made any more.
const CodeEditGone = "parse.edit"

// readEdit returns what a person wanted to run in place of a call, from the record that ended the
// question about it; nil where that was erased, or there is none.
func readEdit(r Record) *edit {
	args, ok := r.findValue(valueEdit)
	if r.Code != CodeApprovalEdited || !ok {
		return nil
	}
	var b struct {
		Approver string `json:"approver"`
		Via      string `json:"via"`
	}
	if json.Unmarshal(r.Body, &b) != nil {
		return nil
	}
	of, _ := r.readProposal()
	return &edit{args: args, by: b.Approver, via: b.Via, decision: r.DecisionID, proposed: of.Digest}
}

// maxRan is how much of the arguments that ran an agent is told, in bytes.
const maxRan = 4 << 10

// noteRan tells the agent what ran in place of what it proposed.
func (m Modified) noteRan(args string) string {
	if m.EditedBy == "" {
		return m.Note()
	}
	text, cut := textcut.Head(args, maxRan), ""
	if len(text) < len(args) {
		cut = fmt.Sprintf(" (the first %d of %d bytes)", len(text), len(args))
	}
	return m.Note() + " It ran with these arguments" + cut + ": " + text
}

// noteEdited tells the agent that a person changed the call.
func (m Modified) noteEdited() string {
	note := fmt.Sprintf("%s gave this call other arguments when asked about it (%s).", m.EditedBy, joinOrNone(m.Args))
	if len(m.Rules) > 0 {
		note += " The operator's rules changed those again (by " + strings.Join(m.Rules, ", ") + ")."
	}
	return note + " What counts is the changed call."
}

// editedID is the id of what a person or rules made of a call.
func editedID(c Call, digest string) string { return ids.Derive(ids.Common, c.ID()+"\n"+digest) }
