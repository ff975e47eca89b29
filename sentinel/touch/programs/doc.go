// Package programs says what programs do with their words and their input, as
// data: one embedded table with a row per program or subcommand, and one reader
// of options for all of them. It evaluates nothing: package bash hands it the
// words of one simple command and follows what comes back.
//
// The package isn't stable: docs/api.md lists those that are.
//
// The rows are in table/*.tbl, one for each program or subcommand; table/README.md
// says how they are written:
//
//	timeout|gtimeout: flags -fpv --foreground --preserve-status --verbose;
//	  value -ks --kill-after --signal; posix; args data command
//
// ReadWords says what one command does:
//
//	programs.ReadWords("timeout", words("-k 5 10 rm -rf /")).Parts // a Command at word 3
package programs
