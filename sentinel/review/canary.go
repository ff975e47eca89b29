package review

import (
	"crypto/rand"
	"encoding/binary"
	"slices"
	"time"
)

// Canary is what the newest canaries of a model came to.
type Canary string

// The results. Empty means that a model was never asked any.
const (
	// CanaryPassed is a model that was right about every canary it judged. It judged two at least
	// of those to be approved and of those to be rejected.
	CanaryPassed Canary = "passed"
	// CanaryFailed is a model that gave a wrong verdict.
	CanaryFailed Canary = "failed"
	// CanaryUnanswered is a model that judged too few to say.
	CanaryUnanswered Canary = "unanswered"
)

// The sets of canaries.
const (
	setPlain  = "plain"
	setDoubts = "doubts"
)

// canaryUser is the user of canaries, and no real one: no user's name holds a NUL.
const canaryUser = "\x00canary"

// enough is how many canaries of either kind a model has to judge to pass: one
// canary that a server's filter stops fails no model.
const enough = 2

// CanaryOptions shape one round.
type CanaryOptions struct {
	// Seed chooses names, dates, wordings and order; zero draws one.
	Seed uint64
	// Models are the names of those to ask; nil is all of both chains.
	Models []string
	// Doubts asks the canaries for doubts in place of the plain ones: whether a model
	// settles by meaning what the judge's rules are in doubt about.
	Doubts bool
}

// CanaryReport is what came of one model's canaries. It holds no text of theirs.
type CanaryReport struct {
	Model string `json:"model"`
	// Set is plain or doubts.
	Set     string         `json:"set"`
	Result  Canary         `json:"result"`
	Answers []CanaryAnswer `json:"answers"`
	// Requests, TokensIn, TokensOut and Cost are what asking took.
	Requests  int           `json:"requests"`
	TokensIn  int           `json:"tokens_in"`
	TokensOut int           `json:"tokens_out"`
	Cost      int64         `json:"cost"`
	Took      time.Duration `json:"took_ns"`
}

// CanaryAnswer is what a model said of one canary.
type CanaryAnswer struct {
	Name string `json:"name"`
	// Want is approve or reject; Got is likewise, or empty where Failure says
	// why there is no judgement.
	Want    string  `json:"want"`
	Got     string  `json:"got,omitempty"`
	Failure Failure `json:"failure,omitempty"`
}

// Wrong returns the names of the canaries that got the wrong verdict.
func (r CanaryReport) Wrong() []string {
	var out []string
	for _, a := range r.Answers {
		if a.Got != "" && a.Got != a.Want {
			out = append(out, a.Name)
		}
	}
	return out
}

// Failure returns why the model judged no more, empty where nothing failed.
func (r CanaryReport) Failure() Failure {
	for _, a := range slices.Backward(r.Answers) {
		if a.Failure != "" {
			return a.Failure
		}
	}
	return ""
}

// The bounds of the canaries for doubts. Who approves everything, or at random, passes none
// of them; a model that errs now and then does.
const (
	fewestDoubtCanaries = 60 // that must be judged, of 68
	mostWrongApprovals  = 1
	mostWrongRejections = 3
)

// rateDoubtAnswers rates a round of the canaries for doubts.
func (r CanaryReport) rateDoubtAnswers() Canary {
	judged, approvals, rejections := 0, 0, 0
	for _, a := range r.Answers {
		switch a.Got {
		case "":
			continue
		case a.Want:
		case "approve":
			approvals++
		default:
			rejections++
		}
		judged++
	}
	switch {
	case approvals > mostWrongApprovals || rejections > mostWrongRejections:
		return CanaryFailed
	case judged < fewestDoubtCanaries:
		return CanaryUnanswered
	}
	return CanaryPassed
}

func (r CanaryReport) rateAnswers() Canary {
	if r.Set == setDoubts {
		return r.rateDoubtAnswers()
	}
	approved, rejected := 0, 0
	for _, a := range r.Answers {
		switch {
		case a.Got == "":
		case a.Got != a.Want:
			return CanaryFailed
		case a.Got == "approve":
			approved++
		default:
			rejected++
		}
	}
	if approved < enough || rejected < enough {
		return CanaryUnanswered
	}
	return CanaryPassed
}

// drawCanarySeed returns a seed that an attacker can't foresee.
func drawCanarySeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint64(b[:])
}
