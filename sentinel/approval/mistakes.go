package approval

import (
	"errors"
	"fmt"
	"strings"
)

// The errors of an Inbox. A *DecidedError, *StaleError and *NotAllowedError say more.
var (
	// ErrUnknown is returned for an id that no approval has, or that was purged.
	ErrUnknown = errors.New("no approval has this id")
	// ErrAmbiguous is returned by Find for the beginning of several ids.
	ErrAmbiguous = errors.New("several approvals begin with this id; give more of it")
	// ErrDecided is wrapped by a *DecidedError.
	ErrDecided = errors.New("the approval is decided already")
	// ErrStale is wrapped by a *StaleError.
	ErrStale = errors.New("the question is not the one that was shown")
	// ErrNotAllowed is wrapped by a *NotAllowedError.
	ErrNotAllowed = errors.New("this person may not answer")
	// ErrAnswer refuses an Answer that can't be one: a word, a name or a feedback that can't be kept.
	ErrAnswer = errors.New("the answer can't be taken")
)

// DecidedError refuses an answer to a question that needs none any more. Item says who decided
// and when; its state is StateExpired where the time was over, and StatePending where the same
// person had said yes and others are waited for.
type DecidedError struct {
	Item Item `json:"item"`
}

// Error says who decided and when.
func (e *DecidedError) Error() string {
	return fmt.Sprintf("approval %s takes this answer no more: %s", e.Item.ID, e.Item.describeDecided())
}

// Unwrap returns ErrDecided.
func (e *DecidedError) Unwrap() error { return ErrDecided }

// StaleError refuses an answer whose Digest is not the question's. The person was shown
// something else; they have to look again.
type StaleError struct {
	Approval string `json:"approval"`
}

// Error names the approval, and not its digest: that comes with what is to be looked at.
func (e *StaleError) Error() string {
	return fmt.Sprintf("the digest is not that of approval %s as it is now; show it again, and answer what is shown", e.Approval)
}

// Unwrap returns ErrStale.
func (e *StaleError) Unwrap() error { return ErrStale }

// NotAllowedError refuses a person whom the rules under approvals.who don't let answer.
type NotAllowedError struct {
	Approval string `json:"approval"`
	By       string `json:"by"`
	// Rules are the rules that say so, as paths in the configuration.
	Rules []string `json:"rules"`
}

// Error names the person and the rules.
func (e *NotAllowedError) Error() string {
	return fmt.Sprintf("%s may not answer approval %s: see %s", e.By, e.Approval, strings.Join(e.Rules, ", "))
}

// Unwrap returns ErrNotAllowed.
func (e *NotAllowedError) Unwrap() error { return ErrNotAllowed }
