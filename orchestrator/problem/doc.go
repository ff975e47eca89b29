// Package problem tells a caller over HTTP what went wrong, as RFC 9457 says: a JSON
// object of type application/problem+json with a code from a closed list.
//
//	problem.Write(w, r, problem.New(problem.ScopeMissing, "the token lacks the scope approve"))
//	problem.Write(w, r, problem.From(err)) // an error that is no *Problem becomes internal, without its text
//
// A *Problem is an error, so handlers return it. It carries the request's id, which the log
// has too, and where there is one the decision's id and a time after which to try again.
//
// The package isn't stable: docs/api.md lists those that are.
//
// What not to do: don't put a Go error's text into a detail. It may hold a path, a query or
// a value of a call. From leaves the text out.
package problem
