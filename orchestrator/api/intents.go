package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/intake"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// intents are the operations on texts that become intents. Each has a path below /v1 and the seed document's below /api.
type intents struct{ *API }

// answersOfIntents are the statuses beside 200 with which an answer comes.
var answersOfIntents = map[int]string{
	http.StatusAccepted:        "A person is asked, or the action runs",
	http.StatusForbidden:       "Blocked, denied, or not answered in time",
	http.StatusBadGateway:      "No parser read the text, or the action failed",
	http.StatusTooManyRequests: "Too many of this risk; nothing was done",
}

func (s intents) register() {
	for prefix, suffix := range map[string]string{"/v1": "", "/api": "-document"} {
		register(s.API, operation{
			id: "process-text" + suffix, method: http.MethodPost, path: prefix + "/process", tag: "intents", scopes: whoChats, keyed: true,
			also: answersOfIntents, summary: "Have a user's text become an intent, and act on it",
			description: "Where the status is `pending_confirmation`, show `confirmation` to the user and send its digest back. Where it is " +
				"`pending_approval`, a person answers at `approval_url`; look at the request again later. " +
				"The text counts as the user's own words, so the token must say `user_turns: human`.",
			fails: []problem.Code{problem.Forbidden, problem.NotKept, problem.Overloaded, problem.Draining},
		}, s.onProcess)
		register(s.API, operation{
			id: "show-text" + suffix, method: http.MethodGet, path: prefix + "/process/{id}", tag: "intents", scopes: whoChats,
			also: answersOfIntents, summary: "Show where a text's request stands", description: "It changes nothing.",
		}, s.onLook)
		register(s.API, operation{
			id: "confirm-intent" + suffix, method: http.MethodPost, path: prefix + "/process/{id}/confirm", tag: "intents", scopes: whoChats,
			also: answersOfIntents, summary: "Confirm an intent, or decline it",
			description: "The answer is to exactly the intent of that digest, once, by the user of the request.",
			fails:       []problem.Code{problem.Forbidden, problem.Stale, problem.NotKept, problem.Overloaded, problem.Draining},
		}, s.onConfirm)
		register(s.API, operation{
			id: "decide-approval" + suffix, method: http.MethodPost, path: prefix + "/approvals/{id}", tag: "intents", scopes: whoApproves,
			summary: "Decide an approval",
			description: "`approver_id` is the token's own name. Another one needs the scope `act_as` too, and both must be allowed to answer. " +
				"The digest is the one that was shown.",
			fails: []problem.Code{problem.NotAllowed, problem.AlreadyDecided, problem.Stale},
		}, s.onDecide)
		path := map[string]string{"/v1": "/v1/ledger/intents", "/api": "/api/ledger"}[prefix]
		register(s.API, operation{
			id: "list-intents" + suffix, method: http.MethodGet, path: path, tag: "intents", scopes: whoReviews,
			summary: "List requests of texts", description: "The newest first. Entries hold names, codes and times, no value.",
		}, s.onList)
		register(s.API, operation{
			id: "count-intents" + suffix, method: http.MethodGet, path: path + "/stats", tag: "intents", scopes: whoReviews,
			summary: "Count requests of texts",
		}, s.onCount)
		register(s.API, operation{
			id: "show-intent" + suffix, method: http.MethodGet, path: path + "/{id}", tag: "intents", scopes: whoReviews,
			summary: "Show the records of one text's request",
		}, s.onChain)
	}
	register(s.API, operation{
		id: "show-approval-document", method: http.MethodGet, path: "/api/approvals/{id}", tag: "intents", scopes: whoApproves,
		summary: "Show an approval with what a person must see", fails: []problem.Code{problem.NotAllowed},
	}, approvals(s).onShow)
}

// intake returns what takes texts.
func (s intents) intake() (*intake.Pipeline, error) {
	if in := s.o.Orchestrator.Parts().Intake; in != nil {
		return in, nil
	}
	return nil, problem.New(problem.NotFound, "this server takes no texts as intents: the configuration has no intent")
}

// processedText is where a text's request stands.
type processedText struct {
	intake.Answer
	Link string `json:"approval_url,omitempty" doc:"Where a person answers the question."`
}

type processed struct {
	Status     int
	RetryAfter string `header:"Retry-After"`
	Body       processedText
}

// statusOf is the HTTP status of an answer.
func statusOf(a intake.Answer) int {
	switch a.Status {
	case intake.Completed:
		return http.StatusOK
	case intake.PendingApproval, intake.PendingConfirmation, intake.Running:
		return http.StatusAccepted
	case intake.Blocked, intake.Denied, intake.Expired:
		if a.Code == intake.CodeRate {
			return http.StatusTooManyRequests
		}
		return http.StatusForbidden
	}
	return http.StatusBadGateway
}

// newProcessed is an answer as a caller reads it.
func (s intents) newProcessed(a intake.Answer) *processed {
	out := &processed{Status: statusOf(a), Body: processedText{Answer: a}}
	if a.Approval != "" {
		out.Body.Link = s.view.link("/approvals/" + a.Approval)
		out.Body.Message = fmt.Sprintf("The request requires a person's approval. Check /api/approvals/%s.", a.Approval)
	}
	if a.RetryAfter > 0 {
		out.RetryAfter = strconv.Itoa(wholeSeconds(a.RetryAfter))
	}
	return out
}

// processInput is a text. Address and user agent are the connection's.
type processInput struct {
	Body struct {
		Text    string `json:"user_input" minLength:"1" doc:"The user's text."`
		User    string `json:"user_id,omitempty" maxLength:"128" doc:"Another user than the token's needs the scope act_as."`
		Session string `json:"session_id" minLength:"1" maxLength:"256"`
		// NoConfirm is for callers behind which no user waits.
		NoConfirm bool `json:"no_confirmation,omitempty" doc:"The user can't be asked: an approver is asked instead."`
	}
	client intake.Client
}

// Resolve implements huma.Resolver: it notes who connects. The server in front has put the client's address there.
func (in *processInput) Resolve(c huma.Context) []error {
	in.client = intake.Client{Address: hostOf(c.RemoteAddr()), Agent: c.Header("User-Agent")}
	return nil
}

// hostOf is an address without its port.
func hostOf(address string) string {
	if i := strings.LastIndexByte(address, ':'); i > 0 && (strings.Count(address, ":") == 1 || strings.HasPrefix(address, "[")) {
		address = address[:i]
	}
	return strings.Trim(address, "[]")
}

// speakFor is actFor of who sends the user's own words: texts ground what is done for them, and confirmations allow it.
func speakFor(p access.Principal, named string) (string, error) {
	if !p.IsHuman() {
		return "", problem.New(problem.Forbidden, "a text, and a confirmation, count as the user's own words, and the token doesn't say "+
			"user_turns: human")
	}
	return actFor(p, named)
}

func (s intents) onProcess(ctx context.Context, p access.Principal, in *processInput) (*processed, error) {
	pipe, err := s.intake()
	if err != nil {
		return nil, err
	}
	user, err := speakFor(p, in.Body.User)
	if err != nil {
		return nil, err
	}
	a, err := pipe.Process(ctx, intake.Request{
		User: user, Session: in.Body.Session, By: p.NameFor(user), Text: in.Body.Text, NoConfirm: in.Body.NoConfirm, Client: in.client,
	})
	if err != nil {
		return nil, err
	}
	return s.newProcessed(a), nil
}

// TextPath names a request. It is exported for huma, which fills no embedded type that is not.
type TextPath struct {
	ID string `path:"id" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$"`
}

type lookInput struct {
	TextPath
	User string `query:"user_id" maxLength:"128" doc:"Another user than the token's needs the scope act_as."`
}

func (s intents) onLook(ctx context.Context, p access.Principal, in *lookInput) (*processed, error) {
	pipe, err := s.intake()
	if err != nil {
		return nil, err
	}
	user, err := actFor(p, in.User)
	if err != nil {
		return nil, err
	}
	a, err := pipe.Look(ctx, in.ID, user)
	if err != nil {
		return nil, err
	}
	return s.newProcessed(a), nil
}

type confirmInput struct {
	TextPath
	Body struct {
		User   string `json:"user_id,omitempty" maxLength:"128" doc:"Another user than the token's needs the scope act_as."`
		Digest string `json:"digest" minLength:"64" maxLength:"64" pattern:"^[0-9a-f]+$" doc:"The digest that the user was shown."`
		Yes    bool   `json:"confirm"`
	}
}

func (s intents) onConfirm(ctx context.Context, p access.Principal, in *confirmInput) (*processed, error) {
	pipe, err := s.intake()
	if err != nil {
		return nil, err
	}
	user, err := speakFor(p, in.Body.User)
	if err != nil {
		return nil, err
	}
	a, err := pipe.Confirm(ctx, intake.UserAnswer{Request: in.ID, User: user, Digest: in.Body.Digest, Yes: in.Body.Yes})
	if err != nil {
		return nil, err
	}
	return s.newProcessed(a), nil
}

type decideInput struct {
	ApprovalPath
	Body struct {
		Decision string `json:"decision" enum:"approve,deny"`
		Approver string `json:"approver_id,omitempty" maxLength:"256"`
		Digest   string `json:"digest" minLength:"16" maxLength:"128" pattern:"^[0-9a-f]+$" doc:"The digest that was shown."`
		Reason   string `json:"reason,omitempty" maxLength:"4096"`
	}
}

// onDecide takes an approver's decision as the seed document words it.
func (s intents) onDecide(ctx context.Context, p access.Principal, in *decideInput) (*approvalItem, error) {
	inbox, err := s.inbox()
	if err != nil {
		return nil, err
	}
	by := p.Name
	if named := in.Body.Approver; named != "" && named != p.Name && named != p.User {
		if by, err = s.approveFor(ctx, p, in.ID, named); err != nil {
			return nil, err
		}
	}
	word := approval.No
	if in.Body.Decision == "approve" {
		word = approval.Yes
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeFor) // it isn't lost with the caller
	defer cancel()
	item, err := inbox.Answer(ctx, approval.Answer{
		Approval: in.ID, Word: word, Feedback: in.Body.Reason, Digest: in.Body.Digest, By: by, Via: via, Principal: p.ID,
	})
	if err != nil {
		return nil, err
	}
	return &approvalItem{item}, nil
}

// approveFor lets a principal answer in another's name: with the scope act_as, and where it may answer itself too. Without
// the latter, who asks in a user's name could say yes to it in a second one.
func (s intents) approveFor(ctx context.Context, p access.Principal, id, named string) (string, error) {
	if !p.May(access.ActAs) {
		return "", problem.New(problem.ScopeMissing, "naming another approver needs the scope act_as")
	}
	if err := access.CheckUser(named); err != nil {
		return "", problem.New(problem.Invalid, cutText(err.Error()))
	}
	_, err := approvals(s).findCard(ctx, p, id)
	return named, err
}

type intentsInput struct {
	User    string    `query:"user_id" maxLength:"256"`
	Session string    `query:"session_id" maxLength:"256"`
	Show    string    `query:"show" enum:"all,blocked,elevations" default:"all"`
	Since   time.Time `query:"since" doc:"The first moment."`
	Until   time.Time `query:"until" doc:"The first moment after."`
	Limit   int       `query:"limit" minimum:"1" maximum:"999" default:"100"`
	After   string    `query:"after" maxLength:"400" doc:"The next_cursor of the page before."`
}

// filter is what the query picks.
func (in *intentsInput) filter() intake.Filter {
	f := intake.Filter{User: in.User, Session: in.Session, Since: in.Since, Until: in.Until, Newest: true, Limit: in.Limit + 1}
	switch in.Show {
	case "blocked":
		f.Outcome = string(intake.Blocked)
	case "elevations":
		f.Outcome = string(intake.PendingApproval)
	}
	return f
}

// archive reads what is recorded of requests.
func (s intents) archive() intake.Archive {
	return intake.Archive{Ledger: &s.o.Orchestrator.Parts().Ledger.Reader}
}

func (s intents) onList(ctx context.Context, p access.Principal, in *intentsInput) (*page[intake.Summary], error) {
	names := []string{p.ID, "intents", in.User, in.Session, in.Show, in.Since.UTC().String(), in.Until.UTC().String()}
	f := in.filter()
	place, err := s.cursor.open(in.After, names...)
	if err != nil {
		return nil, err
	}
	if place != "" {
		index, err := strconv.ParseInt(place, 10, 64)
		if err != nil {
			return nil, err
		}
		f.After = &index
	}
	found, err := s.archive().List(ctx, f)
	if err != nil {
		return nil, err
	}
	return newPage(found, in.Limit, func(last intake.Summary) string {
		return s.cursor.seal(strconv.FormatInt(last.Index, 10), names...)
	}), nil
}

type intentCounts struct{ Body intake.Counts }

type countInput struct {
	User    string    `query:"user_id" maxLength:"256"`
	Session string    `query:"session_id" maxLength:"256"`
	Since   time.Time `query:"since"`
	Until   time.Time `query:"until"`
}

func (s intents) onCount(ctx context.Context, _ access.Principal, in *countInput) (*intentCounts, error) {
	counts, err := s.archive().Stats(ctx, intake.Filter{User: in.User, Session: in.Session, Since: in.Since, Until: in.Until})
	return &intentCounts{counts}, err
}

type intentChain struct {
	Body struct {
		Records []ledger.Record `json:"records" nullable:"false"`
	}
}

func (s intents) onChain(ctx context.Context, _ access.Principal, in *TextPath) (*intentChain, error) {
	list, err := s.archive().Chain(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := &intentChain{}
	out.Body.Records = list
	if len(list) == 0 || list[0].Kind != intake.RecordRequest {
		return nil, ledger.ErrNotFound
	}
	return out, nil
}

// describeIntent is the problem of an error of package intake. Their texts hold no word of a request.
func describeIntent(err error) *problem.Problem {
	var input *intake.InputError
	switch {
	case errors.As(err, &input):
		return problem.New(problem.Invalid, cutText(err.Error()))
	case errors.Is(err, intake.ErrUnknownRequest):
		return problem.New(problem.NotFound, intake.ErrUnknownRequest.Error())
	case errors.Is(err, intake.ErrDecided):
		return problem.New(problem.Conflict, intake.ErrDecided.Error())
	case errors.Is(err, intake.ErrDigest):
		return problem.New(problem.Stale, intake.ErrDigest.Error())
	case errors.Is(err, intake.ErrNotRecorded):
		return problem.New(problem.NotKept, "").Later(crowdedFor)
	case errors.Is(err, intake.ErrBusy):
		return problem.New(problem.Overloaded, intake.ErrBusy.Error()).Later(crowdedFor)
	case errors.Is(err, intake.ErrClosed):
		return problem.New(problem.Draining, intake.ErrClosed.Error()).Later(drainedFor)
	}
	return nil
}
