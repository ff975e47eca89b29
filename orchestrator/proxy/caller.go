package proxy

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
	"github.com/vedette-dev/vedette/orchestrator/threads"
	"github.com/vedette-dev/vedette/skills"
)

// The headers of the proxy.
const (
	headerKey          = "X-Vedette-Key"
	headerConversation = "X-Vedette-Conversation"
	headerSkills       = "X-Vedette-Skills"
	headerDecisions    = "X-Vedette-Decisions"
	headerRequest      = "X-Vedette-Request-Id"
)

// clientKeys are what a client sent for its provider.
type clientKeys struct{ authorization, apiKey string }

type clientKeysKey struct{}

// takeKeys finds the key of Vedette among those that a request brings, and puts it where the guard looks. named reports
// whether there is one. What is left is the provider's: beside a key of Vedette that has its own header, or of a caller
// who needs none. A key of Vedette's never goes to a provider.
func takeKeys(r *http.Request, local bool) (_ *http.Request, named bool) {
	keys := clientKeys{r.Header.Get("Authorization"), r.Header.Get("X-Api-Key")}
	h := r.Header.Clone()
	own := h.Values(headerKey)
	switch {
	case len(own) > 0:
		h.Del("Authorization")
		for _, key := range own {
			h.Add("Authorization", "Bearer "+key)
		}
	case access.IsSecret(strings.TrimPrefix(keys.authorization, "Bearer ")), !local && keys.authorization != "":
		keys = clientKeys{}
	case access.IsSecret(keys.apiKey), !local && keys.apiKey != "":
		h.Set("Authorization", "Bearer "+keys.apiKey)
		keys = clientKeys{}
	default:
		r = r.WithContext(context.WithValue(r.Context(), clientKeysKey{}, keys))
		return r, false
	}
	r = r.WithContext(context.WithValue(r.Context(), clientKeysKey{}, keys))
	r.Header = h
	return r, true
}

// providerKeys returns what the client sent for its provider.
func providerKeys(ctx context.Context) clientKeys {
	k, _ := ctx.Value(clientKeysKey{}).(clientKeys)
	return k
}

// localPrincipal is a caller on this machine without a token. It is known by its provider's key, under a digest.
func (d *Door) localPrincipal(r *http.Request) access.Principal {
	k := providerKeys(r.Context())
	mac := hmac.New(sha256.New, d.o.Key[:])
	mac.Write([]byte("vedette/proxy/local/v1\x00" + k.authorization + "\x00" + k.apiKey))
	return access.Principal{
		ID: "local:proxy-" + hex.EncodeToString(mac.Sum(nil))[:32], Name: "local:" + d.o.LocalUser, User: d.o.LocalUser,
		Scopes: []access.Scope{access.Call}, UserTurns: access.UserTurnsHuman,
	}
}

// caller is who sends a request, and in which conversation.
type caller struct {
	principal access.Principal
	user      string
	thread    threads.KeyThread
	only      *skills.Scope
}

// of is the conversation as the handover has it.
func (c *caller) of() handover.Thread {
	return handover.Thread{Principal: c.principal.ID, User: c.user, Conversation: c.thread.Name}
}

// conversationForm is what names of conversations look like.
var conversationForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

// readCaller finds out who sends a request. Headers only narrow what the key's row says.
func (d *Door) readCaller(r *http.Request) (*caller, error) {
	c := &caller{}
	c.principal, _ = access.FromContext(r.Context())
	var err error
	if c.user, err = c.principal.ActFor(""); err != nil {
		return nil, &wire.Error{Status: http.StatusForbidden, Code: "act_as", Message: "the token is no user's; create one with --user"}
	}
	names := r.Header.Values(headerConversation)
	if len(names) > 1 || len(names) == 1 && !conversationForm.MatchString(names[0]) {
		return nil, wire.Invalid(headerConversation + " must be one name of 1 to 128 letters, digits and . _ : -")
	}
	if c.only, err = readOnly(r.Header.Values(headerSkills)); err != nil {
		return nil, err
	}
	c.thread, err = d.o.Keys.Find(r.Context(), c.principal.ID, c.user, strings.Join(names, ""))
	return c, err
}

// readOnly reads the skills that a request narrows its key to.
func readOnly(values []string) (*skills.Scope, error) {
	if len(values) == 0 {
		return nil, nil //nolint:nilnil // it narrows nothing
	}
	names := strings.FieldsFunc(strings.Join(values, ","), func(c rune) bool { return c == ',' || c == ' ' })
	s, err := skills.NewScope(slices.Compact(names)...)
	if err != nil {
		return nil, wire.Invalid(headerSkills + " must hold skill names such as tool.read, or domains such as tool.*")
	}
	return &s, nil
}
