// Package oidc checks bearer tokens that an OpenID Connect issuer signed.
//
//	i, err := oidc.New(oidc.Options{Issuer: "https://id.example.com", Audience: "vedette", Scopes: []access.Scope{access.Chat}})
//	g, err := access.NewGuard(access.GuardOptions{Tokens: toks, Issuer: i, …})
//
// The package isn't stable: docs/api.md lists those that are.
//
// Issuer, audience, signature, expiry and not-before must be right. Only asymmetric signatures
// count. A claim names the user; where that is email, the issuer must say that it is verified. What a
// principal may do comes from two places. A claim may name scopes, of which Options.Scopes lists
// those that count: at many issuers a client chooses what stands there. Groups give scopes by
// Options.Groups.
//
// The issuer is asked for its keys with the first token, for a key that isn't known, and once an
// hour, so that a key that it withdrew ends. A caller with made-up keys can't have it asked more than
// a few times a minute.
//
// What not to do: don't let an issuer that signs for everybody give scopes by its claim. Don't use
// one audience for two services: the token of one opens the other.
package oidc
