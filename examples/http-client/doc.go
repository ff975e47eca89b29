// Package httpclient holds a transcript of requests to a server, README.md, which its test plays.
package httpclient
