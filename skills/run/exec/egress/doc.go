// Package egress lets a program in a sandbox without a network reach the hosts that
// an operator listed, `egress: ["pypi.org:443", "*.example.com:443"]`, and no other.
//
// The package listen makes the sockets, inside the program's network namespace. They
// are handed out, and Serve accepts on them in Vedette's own process. The program
// finds its way in one of two ways:
//
//   - HTTPS_PROXY and HTTP_PROXY (Policy.Environ) name a proxy that knows CONNECT and
//     plain HTTP.
//   - Its resolver (Policy.Resolver) gives each listed name an address of 198.18.0.0/16
//     and all others NXDOMAIN. Every address leads to the listeners, and the address
//     that the program called tells the name that it meant.
//
// # What is checked
//
// The name and port must be listed. The name is resolved outside, once, by Vedette's
// resolver. Every address that it has must be public; a private one needs its name or
// the address itself in guard.allow_hosts; a metadata service is never reached. The
// connection goes to an address that was checked, without a second look-up.
//
// # What can't be had
//
// UDP other than DNS, so QUIC too; addresses that aren't listed; ports that aren't
// listed; records of DNS other than A. A name below a wildcard carries what is in it
// to that domain's name servers once the program connects. What is said inside of a
// connection isn't read: a server that serves several names may be asked for another.
//
// # Records
//
// Each connection, and each attempt that was refused, is told to the Recorder, with
// the bytes that went each way. Totals count all of them, also what was too much to
// record one by one.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through skills/run/exec.
package egress
