package problem

import "net/http"

// Answer knows whether an answer has begun. A handler that breaks then can't say so any more: what it wrote must not
// look whole.
type Answer struct {
	http.ResponseWriter
	begun bool
}

// Watch returns w as an Answer.
func Watch(w http.ResponseWriter) *Answer { return &Answer{ResponseWriter: w} }

// Begun reports whether something of the answer was sent.
func (a *Answer) Begun() bool { return a.begun }

// WriteHeader implements http.ResponseWriter.
func (a *Answer) WriteHeader(status int) {
	a.begun = a.begun || status >= http.StatusOK
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *Answer) Write(b []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (a *Answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
