package llm

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// RosterConfig names models and the roles they play.
type RosterConfig struct {
	// Models by name. A Config without a Name takes the key's.
	Models map[string]Config
	// Roles maps a role to its chain: the first model, then those to fall back
	// to, in order. Falling back is the caller's decision.
	Roles map[string][]string
	// HTTP is shared by all models. Nil means NewHTTPClient.
	HTTP *http.Client
	// Transport, where it is set, carries each model's requests in place of HTTP's.
	// It is for programs that record requests, or answer them without a server.
	Transport func(model string) http.RoundTripper
}

// Roster holds the clients of a configuration on one connection pool. It does
// not change after NewRoster and is safe for concurrent use. A nil Roster knows
// no model and no role.
type Roster struct {
	clients map[string]*Client
	roles   map[string][]*Client
	http    *http.Client
}

// NewRoster checks the whole configuration and returns every fault it finds as
// PathErrors (models.fast.base_url, roles.sentinel[0]), joined, in a fixed order.
func NewRoster(cfg RosterConfig) (*Roster, error) {
	r := &Roster{clients: make(map[string]*Client), roles: make(map[string][]*Client), http: cfg.HTTP}
	if r.http == nil {
		r.http = NewHTTPClient()
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(cfg.Models)) {
		hc := r.http
		if cfg.Transport != nil {
			if rt := cfg.Transport(name); rt != nil {
				hc = &http.Client{Transport: rt}
			}
		}
		errs = append(errs, r.addModel(name, cfg.Models[name], hc))
	}
	known := slices.Sorted(maps.Keys(cfg.Models))
	for _, role := range slices.Sorted(maps.Keys(cfg.Roles)) {
		errs = append(errs, r.addRole(role, cfg.Roles[role], known))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

// addModel checks the configuration of one model and makes its client.
func (r *Roster) addModel(name string, cfg Config, hc *http.Client) error {
	if !isValidName(name) {
		return &PathError{Path: "models", Msg: fmt.Sprintf("the name %q is not made of letters, digits, '_' and '-'", name)}
	}
	if cfg.Name == "" {
		cfg.Name = name
	}
	if cfg.Name != name {
		return &PathError{Path: "models." + name, Msg: "is configured under another name than its own"}
	}
	c, err := New(cfg, hc)
	if err != nil {
		return err
	}
	r.clients[name] = c
	return nil
}

// addRole accepts a model that exists but is faulty: its own error is enough.
func (r *Roster) addRole(role string, chain, known []string) error {
	path := "roles." + role
	if !isValidName(role) {
		return &PathError{Path: "roles", Msg: fmt.Sprintf("the name %q is not made of letters, digits, '_' and '-'", role)}
	}
	if len(chain) == 0 {
		return &PathError{Path: path, Msg: "names no model; give at least one of " + strings.Join(known, ", ")}
	}
	var errs []error
	for i, name := range chain {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case !slices.Contains(known, name):
			errs = append(errs, &PathError{Path: at, Msg: fmt.Sprintf("no model is named %q; known: %s", name, strings.Join(known, ", "))})
		case slices.Index(chain, name) < i:
			errs = append(errs, &PathError{Path: at, Msg: fmt.Sprintf("%q is in this chain already", name)})
		default:
			r.roles[role] = append(r.roles[role], r.clients[name])
		}
	}
	return errors.Join(errs...)
}

// ForRole returns the chain of a role, the first model first. A role that is not
// configured is a PathError; there is no default model.
func (r *Roster) ForRole(role string) ([]*Client, error) {
	var chain []*Client
	if r != nil {
		chain = r.roles[role]
	}
	if len(chain) == 0 {
		return nil, &PathError{Path: "roles", Msg: fmt.Sprintf("no model is configured for role %q", role)}
	}
	return slices.Clone(chain), nil
}

// Lookup returns the model of that name, and whether there is one.
func (r *Roster) Lookup(name string) (*Client, bool) {
	if r == nil {
		return nil, false
	}
	c, ok := r.clients[name]
	return c, ok
}

// Names returns the names of all models, sorted.
func (r *Roster) Names() []string {
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.clients))
}

// Close closes the idle connections. Requests under way are not disturbed.
func (r *Roster) Close() {
	if r != nil {
		r.http.CloseIdleConnections()
	}
}
