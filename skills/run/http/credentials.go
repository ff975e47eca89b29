package http

import (
	"context"
	"errors"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/scrub"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
)

// checkCredentials refuses a header without exactly one known credential, and one that is set
// twice. In a skill that takes a command line it refuses all.
func (e *endpoint) checkCredentials(at string, s *skills.Skill) error {
	at += ".credentials"
	if len(e.Credentials) == 0 {
		return nil
	}
	if s.TakesShell() {
		return &skills.PathError{
			Path: at, Msg: "the skill takes a command line (x-shell), which could send a credential anywhere; make them two skills",
		}
	}
	var known []string
	if e.credentials != nil {
		known = e.credentials.Names()
	}
	fixed := map[string]bool{}
	for k := range e.Headers {
		fixed[textproto.CanonicalMIMEHeaderKey(k)] = true
	}
	var errs []error
	for k, v := range e.Credentials {
		here := at + "." + k
		errs = append(errs, checkHeader(here, k, v))
		names, paired := listPlaceNames(v)
		switch {
		case !paired || len(names) != 1:
			errs = append(errs, &skills.PathError{Path: here, Msg: `must hold the name of one credential in braces, such as "Bearer {github}"`})
		case !slices.Contains(known, names[0]):
			errs = append(errs, decode.Unknown(here, "credential", names[0], known))
		}
		name := textproto.CanonicalMIMEHeaderKey(k)
		if fixed[name] {
			errs = append(errs, &skills.PathError{Path: here, Msg: "is the same header as another of this skill; keep one of them"})
		}
		fixed[name] = true
	}
	return errors.Join(errs...)
}

// addCredentials sets the headers that hold the user's credentials, and returns
// what takes them out of an answer. Nothing has been sent where it fails.
func (e *endpoint) addCredentials(ctx context.Context, h http.Header, o skills.Order) (*scrub.Scrubber, error) {
	clean := e.clean
	for k, v := range e.Credentials {
		names, _ := listPlaceNames(v)
		secret, err := skills.ResolveCredential(ctx, e.credentials, names[0], o.Caller())
		if err != nil {
			return nil, err
		}
		if hasControlCharacter(secret) {
			return nil, &skills.CredentialError{
				Name: names[0], Why: "it holds a control character, which no header can", Remedy: "store it on one line, without such characters",
			}
		}
		value := strings.Replace(v, "{"+names[0]+"}", secret, 1)
		h.Set(k, value)
		clean = clean.With(append(scrub.OfHeader(k, value), secret)...)
	}
	return clean, nil
}
