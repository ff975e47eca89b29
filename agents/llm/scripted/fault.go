package scripted

import (
	"maps"
	"net/http"
	"slices"
)

// Fault is one way to misbehave, by the name that a script uses too:
// reply: {content: x, fault: reset_mid_body}. The set is closed; see Faults.
type Fault string

// Faults of the connection. They come in place of an answer.
const (
	Reset    Fault = "reset"    // the connection is reset before a byte of an answer
	Cut      Fault = "cut"      // the connection is closed before a byte of an answer
	Hang     Fault = "hang"     // nothing is said until the client or the server goes away
	Redirect Fault = "redirect" // status 307 to a path of this server that answers well
)

// Faults that are a status and an error body in the services' form.
const (
	RateLimited     Fault = "rate_limited"      // 429 with Retry-After in seconds
	RateLimitedDate Fault = "rate_limited_date" // 429 with Retry-After as an HTTP date
	QuotaSpent      Fault = "quota_spent"       // 429 insufficient_quota, without Retry-After
	ServerError     Fault = "server_error"      // 500
	BadGateway      Fault = "bad_gateway"       // 502 with a page of a proxy's
	Overloaded      Fault = "overloaded"        // 503
	Unauthorized    Fault = "unauthorized"      // 401 invalid_api_key
	Forbidden       Fault = "forbidden"         // 403
	BadRequest      Fault = "bad_request"       // 400 without a code
	ContextLength   Fault = "context_length"    // 400 context_length_exceeded
	ContentPolicy   Fault = "content_policy"    // 400 content_policy_violation
	PromptFiltered  Fault = "prompt_filtered"   // 400 content_filter
	RequestTimeout  Fault = "request_timeout"   // 408
	Conflict        Fault = "conflict"          // 409
	Echo            Fault = "echo"              // 400 whose message repeats the request
)

// Faults of what the model says. The scripted answer is the raw material.
const (
	Refusal       Fault = "refusal"        // a refusal in place of content
	ContentFilter Fault = "content_filter" // the first half, with finish_reason content_filter
	Length        Fault = "length"         // the first half, with finish_reason length
	Empty         Fault = "empty"          // content ""
	Null          Fault = "null"           // content null, and nothing else
	NoChoices     Fault = "no_choices"     // choices []
	Prose         Fault = "prose"          // sentences around the content
	Fence         Fault = "fence"          // a code fence around the content
	TwoObjects    Fault = "two_objects"    // the content twice
	NotJSON       Fault = "not_json"       // content that is a sentence
	WrongShape    Fault = "wrong_shape"    // content that is another object
	DuplicateKeys Fault = "duplicate_keys" // content whose members stand twice
	ExtraField    Fault = "extra_field"    // content with a member too many
	WrongValue    Fault = "wrong_value"    // content whose first text is "perhaps"
	OtherModel    Fault = "other_model"    // another model's name on the answer
)

// Faults of the body with the answer in it, of streams as well.
const (
	Drip          Fault = "drip"           // one byte at a time, Options.Pace apart
	HangMidBody   Fault = "hang_mid_body"  // the first half, and silence
	ResetMidBody  Fault = "reset_mid_body" // the first half, and a reset
	ShortBody     Fault = "short_body"     // fewer bytes than were announced; for a stream an unfinished chunked body
	TruncatedJSON Fault = "truncated_json" // a whole response, of which the JSON is half
	HTML          Fault = "html"           // status 200 with a web page
	WrongType     Fault = "wrong_type"     // the answer, declared as text/html
	InvalidUTF8   Fault = "invalid_utf8"   // the answer with a byte that is no UTF-8
	ErrorBody     Fault = "error_body"     // status 200 with an error in the body
	OtherBody     Fault = "other_body"     // status 200 with JSON that is no chat completion
	Oversized     Fault = "oversized"      // the answer behind 16 MiB of white space
	GzipBomb      Fault = "gzip_bomb"      // the same, in some KiB of gzip
	HugeHeaders   Fault = "huge_headers"   // the answer with 1 MiB of headers
)

// Faults of streams. A request that asked for no stream is answered 500, which
// says so.
const (
	StreamError     Fault = "stream_error"     // an error in the middle, and the end
	StreamEndless   Fault = "stream_endless"   // content without an end, Options.Pace apart
	StreamMalformed Fault = "stream_malformed" // an event in the middle that is not JSON
	StreamNoFinish  Fault = "stream_no_finish" // a clean end before any finish_reason
	StreamNoDone    Fault = "stream_no_done"   // all but the last event, [DONE]
)

// misdeed is what a fault does; exactly one of its functions is set.
type misdeed struct {
	instead func(t *turn) int               // in place of an answer; it returns the status
	spoil   func(c *completion)             // to the answer, which is then sent well
	send    func(t *turn, a wireAnswer) int // to the way in which the answer is sent
	streams bool                            // it needs a stream
}

var misdeeds = map[Fault]misdeed{
	Reset: {instead: (*turn).resetConnection}, Cut: {instead: (*turn).cutConnection},
	Hang: {instead: (*turn).hangUntilGone}, Redirect: {instead: (*turn).sendRedirect},

	RateLimited:     {instead: sendRateLimit},
	RateLimitedDate: {instead: sendRateLimitDate},
	QuotaSpent:      {instead: failWith(http.StatusTooManyRequests, "insufficient_quota", "insufficient_quota", "the quota is spent")},
	ServerError: {instead: failWith(http.StatusInternalServerError, "server_error", "",
		"the server had an error while processing the request")},
	BadGateway:   {instead: sendPageWith(http.StatusBadGateway)},
	Overloaded:   {instead: failWith(http.StatusServiceUnavailable, "server_error", "", "the engine is overloaded; try again later")},
	Unauthorized: {instead: failWith(http.StatusUnauthorized, typeRequest, "invalid_api_key", "the API key is not right")},
	Forbidden:    {instead: failWith(http.StatusForbidden, typeRequest, "unsupported_country_region_territory", "not from here")},
	BadRequest:   {instead: failWith(http.StatusBadRequest, typeRequest, "", "the request is not right")},
	ContextLength: {instead: failWith(http.StatusBadRequest, typeRequest, "context_length_exceeded",
		"the messages are longer than the model's context")},
	ContentPolicy: {instead: failWith(http.StatusBadRequest, typeRequest, "content_policy_violation",
		"the request was rejected by the safety system")},
	PromptFiltered: {instead: failWith(http.StatusBadRequest, "", "content_filter", "the prompt triggered the content management policy")},
	RequestTimeout: {instead: failWith(http.StatusRequestTimeout, "server_error", "", "the request timed out")},
	Conflict:       {instead: failWith(http.StatusConflict, typeRequest, "", "the resource is in use")},
	Echo:           {instead: (*turn).echoRequest},

	Refusal: {spoil: refuseToAnswer}, ContentFilter: {spoil: halveContent("content_filter")}, Length: {spoil: halveContent("length")},
	Empty: {spoil: changeContent(func(string) string { return "" })}, Null: {spoil: removeContent},
	NoChoices:     {spoil: func(c *completion) { c.Choices = []choice{} }},
	Prose:         {spoil: changeContent(func(s string) string { return "Sure, this is what I think: " + s + " I hope that this helps." })},
	Fence:         {spoil: changeContent(func(s string) string { return "```json\n" + s + "\n```" })},
	TwoObjects:    {spoil: changeContent(func(s string) string { return s + "\n" + s })},
	NotJSON:       {spoil: changeContent(func(string) string { return "That looks all right to me." })},
	WrongShape:    {spoil: changeContent(func(string) string { return `{"verdict":"fine","score":1}` })},
	DuplicateKeys: {spoil: changeContent(func(s string) string { return formatMembers(s, "{%[1]s,%[1]s}") })},
	ExtraField:    {spoil: changeContent(func(s string) string { return formatMembers(s, "{%s,\"surprise\":1}") })},
	WrongValue:    {spoil: changeContent(replaceFirstText)},
	OtherModel:    {spoil: func(c *completion) { c.Model = "another-model-2020-01-01" }},

	Drip: {send: (*turn).dripBody}, HangMidBody: {send: (*turn).hangMidBody}, ResetMidBody: {send: (*turn).resetMidBody},
	ShortBody: {send: (*turn).shortenBody}, TruncatedJSON: {send: (*turn).truncateJSON}, HTML: {instead: sendPageWith(http.StatusOK)},
	WrongType: {send: (*turn).sendWrongType}, InvalidUTF8: {send: (*turn).sendInvalidUTF8},
	ErrorBody: {instead: failWith(http.StatusOK, "server_error", "server_error", "the server had an error while processing the request")},
	OtherBody: {instead: (*turn).sendOtherBody},
	Oversized: {send: (*turn).sendOversized}, GzipBomb: {send: (*turn).sendGzipBomb}, HugeHeaders: {send: (*turn).sendHugeHeaders},

	StreamError: {send: (*turn).sendStreamError, streams: true}, StreamEndless: {send: (*turn).sendEndlessStream, streams: true},
	StreamMalformed: {send: (*turn).sendMalformedStream, streams: true}, StreamNoFinish: {send: (*turn).sendUnfinishedStream, streams: true},
	StreamNoDone: {send: (*turn).sendStreamWithoutDone, streams: true},
}

// Faults returns every fault, in the order of their names.
func Faults() []Fault { return slices.Sorted(maps.Keys(misdeeds)) }

// NeedsStream reports whether a fault can be seen in streams alone.
func (f Fault) NeedsStream() bool { return misdeeds[f].streams }

// armed is a fault that waits for its requests.
type armed struct {
	when func(Received) bool
	left int // how often it may come still; below zero without end
	f    Fault
}

// FaultNext makes the next n requests meet a fault, before any other that was
// asked for. A request that can't be read, or is for a model that isn't there,
// is told so and does not count. Less than 1 is 1. It panics on an unknown fault, which is a
// mistake in the program.
func (s *Server) FaultNext(n int, f Fault) { s.armFault(&armed{left: max(n, 1), f: f}, true) }

// FaultWhen makes every request that fits meet a fault, until stop is called; a
// nil function fits all. Of several the one that was asked for first counts.
// The function is called under a lock: it must not ask the server. It panics on
// an unknown fault.
func (s *Server) FaultWhen(fits func(Received) bool, f Fault) (stop func()) {
	a := &armed{when: fits, left: -1, f: f}
	s.armFault(a, false)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.armed = slices.DeleteFunc(s.armed, func(o *armed) bool { return o == a })
	}
}

// armFault makes a fault wait for its requests, with next before the faults that are
// permanent.
func (s *Server) armFault(a *armed, next bool) {
	if _, ok := misdeeds[a.f]; !ok {
		panic("scripted: there is no fault " + string(a.f) + "; see Faults")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !next {
		s.armed = append(s.armed, a)
		return
	}
	i := slices.IndexFunc(s.armed, func(o *armed) bool { return o.left < 0 })
	if i < 0 {
		i = len(s.armed)
	}
	s.armed = slices.Insert(s.armed, i, a)
}

// takeDueFault returns the fault that a request meets, empty for none, and counts it.
func (s *Server) takeDueFault(r Received) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range s.armed {
		if a.when != nil && !a.when(r) {
			continue
		}
		if a.left > 0 {
			if a.left--; a.left == 0 {
				s.armed = slices.Delete(s.armed, i, i+1)
			}
		}
		return a.f
	}
	return ""
}
