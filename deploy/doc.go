// Package deploy holds files for those who run Vedette as a service: a unit of systemd, a Containerfile, a
// compose file with Redis. Its tests hold them to what the program knows.
//
// The package isn't stable: docs/api.md lists those that are.
package deploy
