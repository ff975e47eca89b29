package serve

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/access/oidc"
	"github.com/vedette-dev/vedette/skills"
)

// maxSecretFile is how long the secret of a client is at most.
const maxSecretFile = 4 << 10

// newIssuer makes what checks an issuer's tokens and signs people in; nil where there is none. The error is
// a *skills.PathError.
func newIssuer(c config.ServerOIDC, log *slog.Logger) (*oidc.Issuer, error) {
	if c.Issuer == "" {
		return nil, nil //nolint:nilnil // no issuer is none
	}
	secret, err := readClientSecret(c.SignIn)
	if err != nil {
		return nil, err
	}
	o := oidc.Options{
		Issuer: c.Issuer, Audience: c.Audience, UserClaim: c.UserClaim, ScopesClaim: c.ScopesClaim, ScopePrefix: c.ScopePrefix,
		Scopes: readScopes(c.Scopes), GroupsClaim: c.GroupsClaim, Groups: map[string][]access.Scope{}, UserTurns: c.UserTurns,
		Limits: access.Limits{PerMinute: c.PerMinute}, Log: log,
		Client: oidc.Client{ID: c.SignIn.ClientID, Secret: secret, Scopes: c.SignIn.Scopes, UserInfo: c.SignIn.UserInfo,
			SignOut: c.SignIn.SignOut},
	}
	for _, g := range c.Groups {
		o.Groups[g.Group] = readScopes(g.Scopes)
	}
	issuer, err := oidc.New(o)
	if err != nil {
		return nil, &skills.PathError{Path: "server.auth.oidc", Msg: err.Error()}
	}
	return issuer, nil
}

// readClientSecret returns the secret by which the issuer knows the server: of the configuration, or of its
// file, which belongs to its owner alone.
func readClientSecret(c config.ServerSignIn) (string, error) {
	if c.ClientSecretFile == "" {
		return c.ClientSecret.Reveal(), nil
	}
	mistake := func(format string, args ...any) error {
		return &skills.PathError{Path: "server.auth.oidc.sign_in.client_secret_file", Msg: fmt.Sprintf(format, args...)}
	}
	info, err := os.Stat(c.ClientSecretFile)
	switch {
	case err != nil:
		return "", mistake("can't be read: %v", err)
	case !info.Mode().IsRegular():
		return "", mistake("is no file")
	case info.Mode().Perm()&0o077 != 0:
		return "", mistake("can be read by other users: take that away with chmod 600")
	case info.Size() > maxSecretFile:
		return "", mistake("must hold the secret on one line")
	}
	raw, err := os.ReadFile(c.ClientSecretFile)
	secret := strings.TrimSpace(string(raw))
	switch {
	case err != nil:
		return "", mistake("can't be read: %v", err)
	case secret == "" || strings.ContainsAny(secret, "\r\n\x00"):
		return "", mistake("must hold the secret on one line")
	}
	return secret, nil
}

// readScopes makes scopes of the configuration's words, which it has checked.
func readScopes(words []string) []access.Scope {
	out := make([]access.Scope, len(words))
	for i, w := range words {
		out[i] = access.Scope(w)
	}
	return out
}
