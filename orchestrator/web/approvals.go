package web

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// approvals are the pages on which people answer.
type approvals struct{ *Pages }

func (s approvals) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /approvals", s.forScope(access.Approve, s.onList))
	mux.HandleFunc("GET /approvals/{id}", s.forScope(access.Approve, s.onShow))
	mux.HandleFunc("GET /approvals/{id}/state", s.forScope(access.Approve, s.onState))
	mux.HandleFunc("POST /approvals/{id}", s.forScope(access.Approve, s.onAnswer))
}

// pageSize is how many approvals a page has.
const pageSize = 50

// beat is how often a request that waits looks whether its visitor still counts.
const beat = time.Second

// listView is the list of approvals.
type listView struct {
	Rows   []rowView
	Filter filterView
	// Seen names what is listed, and Follow is where a page asks for the next list.
	Seen, Follow string
	// Next is the next page; empty where this is the last.
	Next string
	Now  time.Time
}

// filterView is what the reader chose.
type filterView struct {
	State, User, Skill, After string
	States                    []approval.State
}

// rowView is one approval of a list.
type rowView struct {
	approval.Item
	Age, Left time.Duration
	// May says whether this visitor may answer.
	May bool
}

// readFilter reads what a reader chose. What is none of ours is left out.
func readFilter(q url.Values) filterView {
	f := filterView{States: approval.States()}
	if s := q.Get("state"); s == "all" || slices.Contains(f.States, approval.State(s)) {
		f.State = s
	}
	if u := q.Get("user"); nameForm.MatchString(u) {
		f.User = u
	}
	if n := q.Get("skill"); nameForm.MatchString(n) {
		f.Skill = n
	}
	if a := q.Get("after"); idForm.MatchString(a) {
		f.After = a
	}
	return f
}

// query is the filter as a query of an address, from an approval on.
func (f filterView) query(after string) url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"state": f.State, "user": f.User, "skill": f.Skill, "after": after} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// idForm is what ids of approvals look like.
var idForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// errNoInbox: the configuration keeps no approvals.
var errNoInbox = errors.New("this server keeps no approvals: set approvals.inbox in its configuration")

// readList reads one page of the list.
func (s approvals) readList(ctx context.Context, v *visitor, f filterView) (listView, error) {
	inbox := s.inbox()
	if inbox == nil {
		return listView{}, errNoInbox
	}
	now := s.o.Now()
	q := approval.Filter{User: f.User, Skill: f.Skill, State: approval.State(f.State), After: f.After, Limit: pageSize + 1}
	if f.State == "all" {
		q.State, q.All = "", true
	}
	items, err := inbox.List(ctx, q)
	if err != nil {
		return listView{}, err
	}
	out := listView{Filter: f, Now: now}
	if len(items) > pageSize {
		items = items[:pageSize]
		out.Next = "/approvals?" + f.query(items[pageSize-1].ID).Encode()
	}
	sum := sha256.New()
	for _, i := range items {
		may := inbox.May(v.principal.Name, i)
		out.Rows = append(out.Rows, rowView{i, now.Sub(i.Asked), i.Expires.Sub(now), may})
		_, _ = fmt.Fprintf(sum, "%s %s %s %d %d %t\n", i.ID, i.Digest, i.State, i.Yes, i.Needed, may)
	}
	out.Seen = fmt.Sprintf("%x", sum.Sum(nil)[:16])
	follow := f.query(f.After)
	follow.Set("seen", out.Seen)
	out.Follow = "/approvals?" + follow.Encode()
	return out, nil
}

// onList shows the list. A page that follows names what it has seen, and is answered once there is
// something else, or after Options.Poll.
func (s approvals) onList(w http.ResponseWriter, r *http.Request, v *visitor) {
	f, seen := readFilter(r.URL.Query()), r.URL.Query().Get("seen")
	var list listView
	load := func(ctx context.Context) (other bool, err error) {
		list, err = s.readList(ctx, v, f)
		return list.Seen != seen, err
	}
	var err error
	if isPart(r) && seen != "" {
		err = s.follow(r.Context(), v, load)
	} else {
		_, err = load(r.Context())
	}
	switch {
	case r.Context().Err() != nil:
	case errors.Is(err, errGone):
		s.sendToSignIn(w, r)
	case errors.Is(err, errNoInbox):
		s.showFailure(w, v, failure{http.StatusNotFound, "No approvals are kept here", err.Error()})
	case err != nil:
		s.showBroken(w, r, v, err)
	case isPart(r):
		s.show(w, http.StatusOK, "list", list)
	default:
		out := viewFor(v, "approvals", "Approvals", list)
		out.Refresh = 30
		s.show(w, http.StatusOK, "approvals", out)
	}
}

// errGone: the visitor no longer counts.
var errGone = errors.New("the session has ended")

// follow loads until load finds something else, the time of a poll is over, or the visitor is gone.
func (p *Pages) follow(ctx context.Context, v *visitor, load func(context.Context) (other bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, p.o.Poll)
	defer cancel()
	inbox, changes := p.inbox(), (<-chan approval.Change)(nil)
	select {
	case p.followers <- struct{}{}:
		defer func() { <-p.followers }()
	default: // it is answered at once, and asks again
		cancel()
	}
	if inbox != nil {
		changes, _ = inbox.Watch(ctx) // where there are too many watchers, the beat finds changes
	}
	look := time.NewTicker(beat)
	defer look.Stop()
	for {
		other, err := load(context.WithoutCancel(ctx))
		if err != nil || other || ctx.Err() != nil {
			return err
		}
		select {
		case _, more := <-changes:
			if !more {
				changes = nil
			}
		case <-look.C:
			if !p.isHere(v) {
				return errGone
			}
		case <-p.base.Done():
			return nil
		case <-ctx.Done():
		}
	}
}
