package proxy

import (
	"bytes"
	"net/http"
	"net/url"
	"strconv"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/orchestrator/proxy/formats"
	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
)

// passing carries what holds no answer of a model's.
type passing struct{ *Door }

// passWith returns the handler of what carries no answer of a model's: counts of tokens, embeddings, moderations.
func (d passing) passWith(f *formats.Form) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := d.passRequest(w, r, f); err != nil {
			d.failRequest(w, f, err)
		}
	}
}

func (d passing) passRequest(w http.ResponseWriter, r *http.Request, f *formats.Form) error {
	c, err := d.readCaller(r)
	if err != nil {
		return err
	}
	proxy := d.o.Running().Proxy
	body, err := readBody(r, proxy.Limits.Body)
	if err != nil {
		return err
	}
	head := wire.Reader{}
	if _, err := head.Begin(body); err != nil {
		return err
	}
	to, err := chooseUpstream(f.Upstreams(proxy), head.Model)
	if err != nil {
		return err
	}
	q := question{f, to, http.MethodPost, r.URL.Path[len(f.Door):], r.URL.RawQuery, r.Header, body, c.user}
	answer, err := d.fetch(r, q, w.Header())
	if err != nil {
		return err
	}
	if wire.HoldsCall(answer.body) && answer.status < http.StatusBadRequest {
		return errBadAnswer
	}
	answer.write(w)
	return nil
}

// fetched is an answer that holds no call.
type fetched struct {
	status int
	body   []byte
}

func (a fetched) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a caller that left needs no answer
}

// fetch asks an upstream for a JSON object.
func (d passing) fetch(r *http.Request, q question, header http.Header) (fetched, error) {
	res, err := d.ups.ask(r.Context(), q)
	if err != nil {
		return fetched{}, err
	}
	defer res.Body.Close() //nolint:errcheck // what was read counts
	raw, err := readUpTo(res.Body, d.o.Running().Proxy.Limits.Answer, int(res.ContentLength))
	raw = bytes.TrimSpace(raw)
	if err != nil || kindOf(res) != wholeJSON || !wire.IsObject(raw) || res.StatusCode >= 300 && res.StatusCode < 400 {
		if res.StatusCode >= http.StatusBadRequest {
			return fetched{}, &wire.Error{Status: res.StatusCode, Code: "upstream_error", Message: "the upstream answered with status " +
				strconv.Itoa(res.StatusCode)}
		}
		return fetched{}, errBadAnswer
	}
	copyAnswerHeaders(header, res.Header)
	return fetched{res.StatusCode, raw}, nil
}

// listModels returns the handler of the list of models: of all upstreams of the format.
func (d passing) listModels(f *formats.Form) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := d.readCaller(r)
		if err != nil {
			d.failRequest(w, f, err)
			return
		}
		list := f.Upstreams(d.o.Running().Proxy)
		var all []fetched
		for _, to := range list {
			a, err := d.fetch(r, question{f, to, http.MethodGet, "/models", r.URL.RawQuery, r.Header, nil, c.user}, w.Header())
			if err != nil && len(list) == 1 {
				d.failRequest(w, f, err)
				return
			}
			switch {
			case err == nil && a.status == http.StatusOK:
				all = append(all, a)
			case len(list) > 1:
				d.o.Log.Warn("an upstream of the proxy does not list its models", "request_id", problem.RequestID(r.Context()))
			default:
				a.write(w)
				return
			}
		}
		if len(all) == 0 {
			d.failRequest(w, f, errBadAnswer)
			return
		}
		bodies := make([][]byte, len(all))
		for i, a := range all {
			bodies[i] = a.body
		}
		fetched{http.StatusOK, wire.JoinModels(bodies)}.write(w)
	}
}

// showModel returns the handler of one model.
func (d passing) showModel(f *formats.Form) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		model := r.PathValue("model")
		c, err := d.readCaller(r)
		var to config.ProxyUpstream
		if err == nil {
			to, err = chooseUpstream(f.Upstreams(d.o.Running().Proxy), model)
		}
		var a fetched
		if err == nil {
			q := question{f, to, http.MethodGet, "/models/" + url.PathEscape(model), r.URL.RawQuery, r.Header, nil, c.user}
			a, err = d.fetch(r, q, w.Header())
		}
		if err != nil {
			d.failRequest(w, f, err)
			return
		}
		a.write(w)
	}
}
