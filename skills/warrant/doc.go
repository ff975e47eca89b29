// Package warrant makes and checks proofs that exactly one call was allowed.
// It needs the standard library alone, so that a service which is not part of
// Vedette can import it for VerifyHTTP.
//
// # In the process
//
// NewPair returns a Signer and a Verifier that share a random key which exists
// nowhere else. The checkpoint holds the Signer and issues a [Warrant] for the digest
// of a call that it allowed. The executor holds the Verifier and redeems the Warrant
// for the digest of the call that it is about to run:
//
//	signer, verifier, err := warrant.NewPair(warrant.Options{})
//	w, err := signer.Issue(call.Digest)      // allowed
//	err = verifier.Redeem(w, call.Digest)    // nil once; then run
//
// A Warrant works once, for its digest, until it expires, and with the Verifier
// of its own pair. One that was issued before a restart, or in another process,
// is refused, and so is the zero Warrant.
//
// What NOT to do. Don't compute the digest that is redeemed from anything but
// the bytes that will run. Don't share a Verifier's pair between tenants that
// may not run each other's calls. Don't take the set of redeemed ids for a
// record: it is forgotten with the process, where the key is forgotten too.
//
// # Over HTTP
//
// Where the effect happens in another service, the request carries a token in
// the header named [Header]: a JWT signed with Ed25519 by an HTTPSigner. The
// service puts [VerifyHTTP] before its handler:
//
//	claims, err := warrant.VerifyHTTP(r, warrant.VerifyOptions{
//		Key:      vedettePublicKey,
//		Audience: "https://mail.internal/send",
//		Seen:     seen.First, // seen := warrant.NewSeen(warrant.SeenOptions{})
//	})
//	if err != nil {
//		http.Error(w, "no valid warrant", http.StatusUnauthorized)
//		return
//	}
//
// A nil error means: the holder of the key allowed this request, with exactly
// this body, for this audience, a moment ago, and no request with the same token
// came before. If the signer set Claims.Target, it also means this method and
// this path and query. The handler reads r.Body as usual afterwards.
//
// What a receiver must see to:
//
//   - Audience names one skill's endpoint, not the whole host. Two endpoints
//     with one audience accept each other's tokens; where they have to share it,
//     compare Claims.Skill as well.
//   - Seen is shared by all processes that serve the endpoint. One Seen in
//     memory per process lets a token through once per process, and once more
//     after a restart, until it expires. In SQL: a table with jti as its
//     primary key, and INSERT ... ON CONFLICT DO NOTHING.
//   - VerifyHTTP runs before anything that changes the body (decompression) or,
//     with a Target, the request line. Headers other than this one are not
//     covered: don't take arguments from them.
//   - The error says why and is for the service's own log. Answer 401 (or 413
//     for ErrBodyTooLarge, 503 for ErrSeen) with a fixed text.
//   - Keys are public; pin them in configuration. To change them, list old and
//     new in VerifyOptions.Keys until the old tokens have expired.
//
// # The token
//
// A compact JWS (RFC 7515) with the header {"alg":"EdDSA","kid":…,"typ":
// "vedette-warrant+jwt"} and these claims, in this order, each one present
// except target, sub and cid:
//
//	aud     the receiver, one string
//	jti     the token's id, used once
//	digest  the digest of the call that was allowed
//	skill   the skill's name
//	call    the call's id, the same when an idempotent call is sent again
//	body    SHA-256 of the request's body, in hex
//	target  SHA-256 of "METHOD request-target", in hex
//	sub     the id of the user for whom the call runs
//	cid     the id of the user's conversation
//	iat,exp seconds since 1970, whole
//
// A token with sub and cid has the type "vedette-warrant.caller+jwt"; it has both
// or none. Its receiver takes them from VerifyCaller:
//
//	caller, _, err := warrant.VerifyCaller(r, options)
//	// caller.User is who asked; no argument of the request can say otherwise
//
// VerifyHTTP accepts only the bytes that an HTTPSigner would have written: no
// other algorithm, type, claim, order, spacing or padding. Should the format
// change, typ changes with it.
package warrant
