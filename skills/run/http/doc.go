// Package http runs a skill as one HTTP request: `run: {http: {method: POST,
// url: "https://mail.internal/send"}}`.
//
// The host is fixed by configuration. A call's arguments fill `{name}` places
// in the path, escaped and never able to climb out of it, the query parameters
// that are listed, and the body, which by default is the very canonical JSON
// that was judged (for GET and HEAD there is none by default).
//
// # Where it connects
//
// https, or http to a host in allow_hosts. The host's name is resolved once,
// every address is judged, and the connection is made to a judged address; a
// hook looks at the address again as the socket is opened. Loopback, private,
// link-local (with them the metadata services of clouds), shared and reserved
// addresses are refused, unless the host was allowed by name: in the skill's
// allow_private, in guard.allow_hosts, or by the url itself where its host is a
// private address or a name that only this network knows ("mail.internal"). An
// address in guard.allow_hosts may be what any name resolves to. With
// "allow_private: false" none of that holds, and a metadata service is refused
// whatever any list says. Arguments can't change the host. Proxies
// of the environment are not used: they would move that judgement elsewhere.
// Redirects are not followed; a 3xx is a failure. TLS is 1.2 or newer.
//
// # What goes along
//
// Idempotency-Key holds the call's id. Vedette-Warrant holds a signed token for
// exactly this request, where Options.Token is set; package skills/warrant has
// the receiver's half. Each request has a connection of its own: net/http would
// send one that has an Idempotency-Key a second time when a kept connection
// breaks, and not every receiver honours the key.
//
// The token names the user and the conversation (claims sub and cid): a receiver
// that works for many users takes them from warrant.VerifyCaller.
//
// credentials are headers with the user's own credential in braces,
// `credentials: {Authorization: "Bearer {github}"}`, where github stands under
// credentials in the configuration. It is found for each call, after the warrant was
// redeemed. A user without one gets credential_missing, and nothing is sent. A skill
// that takes a command line can have none.
//
// # What comes back
//
// Results and errors are scrubbed of what the skill's file keeps secret: values of
// headers (but for those such as Accept that hold no secret), values in the url's
// query that look like secrets, credentials and the token itself. They are found
// escaped, in base64 and hex, across line breaks and cut off; a value of 4 to 7
// bytes only as a word, a shorter one not at all. A server that means to give them
// away can still do so.
//
// # Perimeter
//
// A skill whose effect is read sends GET, HEAD or QUERY, unless its file says
// `safe: true`: the endpoint changes nothing, whatever its method says.
//
// # Errors
//
// An error before anything was sent wraps skills.ErrNoEffect. After that, no
// answer, a broken answer, a 3xx and a 5xx leave open whether the effect
// happened, and say so unless the skill only reads. A 4xx is a plain failure.
//
// Do not put a secret in the url; headers are the place. Vedette shows a skill's
// options only to the operator.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through orchestrator/assembly.
package http
