// Package wire says what a request to a model holds, whatever its format: tools, what its user said, what tools
// returned. The packages below read the formats.
//
//	q, err := chat.Format{}.Read(body)
//	for _, s := range q.Steps { … }
//
// A request is the client's word. Nothing here says what of it may be believed.
//
// The package isn't stable: docs/api.md lists those that are.
package wire
