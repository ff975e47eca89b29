// Package access says who calls the HTTP API, and what they may do there.
//
//	toks, err := access.OpenTokens(ctx, access.TokenOptions{Store: st, Ledger: lg, Key: key})
//	made, err := toks.Create(ctx, access.Wanted{Name: "backend", User: "ann", Scopes: []access.Scope{access.Chat}}, "local:bob")
//	// made.Secret is shown once: vdt_…
//
//	g := access.NewGuard(access.GuardOptions{Tokens: toks, Hosts: []string{"127.0.0.1:8420"}})
//	mux.Handle("/v1/", g.Wrap(api))
//	p, _ := access.FromContext(r.Context())
//	if !p.May(access.Approve) { … }
//
// The package isn't stable: docs/api.md lists those that are.
//
// # Tokens
//
// A token is a row in the store. The row says all that counts: user, scopes, skills, limits. A
// request's body may only narrow that. The secret has 256 random bits and is shown when the
// token is made. The database keeps an HMAC of it under the process's digest key, and a seal
// over the whole row under the same key. So a row that was changed or put into the database by
// somebody without the keys lets no caller in. An old copy of the row or of the database is not found out:
// a revoked token that somebody puts back with its old seal counts again. The ledger has a
// record of each creation and revocation (token_created, token_revoked).
//
// A revocation counts at once: once it is on record, requests under way lose their context.
//
// # Bearer tokens of an issuer
//
// An Authenticator checks what isn't ours, such as access/oidc. Its principals end when the
// issuer's token does: an issuer's revocation isn't heard before that.
//
// # The Guard
//
// The Guard denies by default. It refuses a Host that isn't the server's, an Origin that isn't,
// a token in a URL, two Authorization headers. It counts each principal's requests. It answers
// no preflight, so pages of other sites stay out. Handlers behind it ask Principal.May, or
// stand behind Guard.Require.
//
// # What not to do
//
// Don't take a user, a scope or a limit from a body or a header: use Principal.ActFor. Don't log
// an Authorization header, or a URL before Guard has seen it. Don't keep a Principal beyond its
// request: ask Tokens.Alive.
package access
