// Package clients holds the clients of Vedette in other languages, and no Go but their tests:
// `./test -clients` runs them against a real server and the real frameworks.
//
// The package isn't stable: docs/api.md lists those that are.
package clients
