package llm

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	openai "github.com/sashabaranov/go-openai"
)

// maxErrorBody is how much of a failure's body is looked at, for its code.
const maxErrorBody = 64 << 10

// maxRetryAfter caps what a server can make its callers wait.
const maxRetryAfter = time.Hour

// exchange is the HTTP client that the library gets, for one request. It
// completes the body on the way out; on the way back it reads the answer under a
// limit and lets the library see only a success with one valid JSON document.
type exchange struct {
	client *http.Client
	head   []byte
	limit  int64
	now    func() time.Time

	status int    // of the answer, 0 before one came
	body   []byte // of a success
}

// Do sends the request; every error it returns is an *Error.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if e := x.complete(req); e != nil {
		return nil, e
	}
	res, err := x.send(req)
	if err != nil {
		return nil, &Error{Kind: KindConnect, msg: "no answer from the server; check base_url and the network"}
	}
	defer func() { _ = res.Body.Close() }()
	x.status = res.StatusCode
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, x.failure(res)
	}
	if e := x.success(res); e != nil {
		e.Status = res.StatusCode
		return nil, e
	}
	res.Body = io.NopCloser(bytes.NewReader(x.body))
	return res, nil
}

func (x *exchange) complete(req *http.Request) *Error {
	fault := &Error{Kind: KindRequest, Code: CodeInvalidRequest, msg: "the request could not be built"}
	lib, err := io.ReadAll(req.Body)
	if err != nil {
		return fault
	}
	body, ok := join(x.head, lib)
	if !ok {
		return fault
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	// With GetBody the transport may send again on another connection when a
	// warm one turns out to be closed before a byte was written, and send where it
	// was closed before the request was read; not otherwise.
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))
	return nil
}

// failure reads as much of the body as can hold a code. The status decides the
// kind, also when the body can't be read.
func (x *exchange) failure(res *http.Response) *Error {
	e := statusError(res.StatusCode)
	e.RetryAfter = retryAfter(res.Header, x.now())
	if body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)); err == nil {
		e.Code = codeOf(body, e.Code)
	}
	return e
}

func (x *exchange) success(res *http.Response) *Error {
	if !isJSON(res.Header.Get("Content-Type")) {
		return &Error{Kind: KindNotJSON, msg: "the content type is not JSON; check base_url"}
	}
	if res.ContentLength > x.limit {
		return &Error{Kind: KindTooLarge, msg: "the answer is longer than the limit"}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, x.limit+1))
	switch {
	case int64(len(body)) > x.limit:
		return &Error{Kind: KindTooLarge, msg: "the answer is longer than the limit"}
	case err != nil:
		return &Error{Kind: KindConnect, msg: "the connection broke within the answer"}
	case !jsontext.Value(body).IsValid():
		return &Error{Kind: KindNotJSON, msg: "the answer is not one valid JSON document"}
	case folded(body):
		return &Error{Kind: KindBadResponse, Code: CodeShape, msg: "the answer has a field twice, in other letters"}
	}
	x.body = body
	return nil
}

// serverError finds an error object in a success, alone or beside choices that
// were begun before the failure.
func (x *exchange) serverError() *Error {
	if !bytes.Contains(x.body, []byte(`"error"`)) {
		return nil
	}
	var doc struct {
		Error json.RawMessage `json:"error"`
	}
	// A document of another shape reports nothing here; what reads it judges it.
	if json.Unmarshal(x.body, &doc) == nil && len(doc.Error) > 0 && string(doc.Error) != "null" {
		return &Error{Kind: KindBadResponse, Code: codeOf(x.body, ""), msg: "the server reported an error within a success"}
	}
	return nil
}

// isJSON accepts a missing type: it claims nothing, and the body is checked.
func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && (t == "application/json" || t == "text/json" || strings.HasSuffix(t, "+json"))
}

// codeOf returns the error code in a body when it is one we know, CodeOther when
// it is another, and def when there is none.
func codeOf(body []byte, def string) string {
	var doc struct {
		Error *struct {
			Code any `json:"code"`
			Type any `json:"type"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &doc) != nil || doc.Error == nil {
		return def
	}
	found := false
	for _, v := range []any{doc.Error.Code, doc.Error.Type} {
		s, ok := v.(string)
		if same := otherNames[s]; same != "" {
			s = same
		}
		if ok && serverCodes[s] {
			return s
		}
		found = found || ok && s != ""
	}
	if found && def == "" {
		return CodeOther
	}
	return def
}

// retryAfter reads Retry-After in seconds or as a date, or the milliseconds some
// servers send beside it.
func retryAfter(h http.Header, now time.Time) time.Duration {
	var d time.Duration
	if ms, err := strconv.ParseUint(h.Get("Retry-After-Ms"), 10, 32); err == nil {
		d = time.Duration(ms) * time.Millisecond
	} else if v := strings.TrimSpace(h.Get("Retry-After")); v != "" {
		if sec, err := strconv.ParseUint(v, 10, 32); err == nil {
			d = time.Duration(sec) * time.Second
		} else if at, err := http.ParseTime(v); err == nil {
			d = at.Sub(now)
		}
	}
	return min(max(d, 0), maxRetryAfter)
}

// maxUsage is more tokens than any answer costs. Sums of what a server claims
// must not overflow.
const maxUsage = 1 << 30

func plausible(tokens int) int { return min(max(tokens, 0), maxUsage) }

// read takes the first choice out of an answer.
func read(a openai.ChatCompletionResponse) (Response, *Error) {
	r := Response{ID: a.ID, Model: a.Model, Choices: len(a.Choices),
		Usage: Usage{Prompt: plausible(a.Usage.PromptTokens), Completion: plausible(a.Usage.CompletionTokens), Total: plausible(a.Usage.TotalTokens)}}
	if len(a.Choices) == 0 {
		return r, &Error{Kind: KindBadResponse, Code: CodeNoChoices, msg: "the answer has no choices"}
	}
	choice := a.Choices[0]
	r.FinishReason, r.Refusal, r.Content = string(choice.FinishReason), choice.Message.Refusal, choice.Message.Content
	for _, part := range choice.Message.MultiContent {
		if part.Type == openai.ChatMessagePartTypeText { // a model's reasoning is no answer
			r.Content += part.Text
		}
	}
	for _, tc := range choice.Message.ToolCalls {
		r.ToolCalls = append(r.ToolCalls, ToolCall{ID: tc.ID, Name: tc.Function.Name, Arguments: tc.Function.Arguments})
	}
	if r.Content == "" && r.Refusal == "" && len(r.ToolCalls) == 0 {
		e := &Error{Kind: KindBadResponse, Code: CodeEmpty, msg: "the answer holds neither content nor a tool call"}
		if r.FinishReason == CodeLength || r.FinishReason == CodeContentFilter {
			e.Code = r.FinishReason
		}
		return r, e
	}
	return r, nil
}
