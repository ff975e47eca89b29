// Package control lets the owner of a running process look into it and stop
// it, from another process on the same machine, over a Unix socket.
//
//	srv, err := control.Listen(ctx, path, backend, control.Options{})
//	defer srv.Close(ctx)
//
//	c := control.Dial(path)
//	res, err := c.Pause(ctx, pause.Target{All: true})
//
// The package isn't stable: docs/api.md lists those that are.
//
// Who may: the user whose process it is, and root. The socket's mode says so (0600),
// and where the system tells who is at the other end, as Linux does, each connection
// is asked as well. There is no other password: that user could end the process, or
// read its keys, anyway.
//
// A skill that runs programs runs them as that user, so on Linux whatever this
// process has started, at whatever remove, is turned away. One that left its
// parents behind (a daemon that forked twice) is not known for what it is: the
// guard refuses the commands that reach the socket, and confinement its file.
//
// The client looks too: it believes only a process of its own user or of root. So no
// other user can put a socket in the right place and answer that all work is paused.
//
// On the wire it is HTTP with JSON bodies of at most 64 KiB:
//
//	GET    /v1/pauses     the pauses in force
//	POST   /v1/pauses     begin one; the answer lists the calls in flight
//	DELETE /v1/pauses     lift one
//	GET    /v1/in-flight  the calls that wait for a person or run
//	GET    /v1/top        what the process is doing
//	GET    /v1/approvals          the calls that wait for an answer; filters as its query
//	GET    /v1/approvals/{id}     one of them, with what a person must see
//	POST   /v1/approvals/answers  answer one, in the name of the user at the other end
//	GET    /v1/standing           the standing approvals that hold
//	POST   /v1/standing/revoke    end one
//	GET    /v1/tokens         the tokens of the HTTP API, without their secrets
//	POST   /v1/tokens         make one; its secret is in the answer, this once
//	DELETE /v1/tokens/{id}    revoke one
//	POST   /v1/stories/{id}   all that is kept of one call, with values; the reading is on record
//
// What not to do: don't forward the socket to another machine, and don't mount
// it into a container that runs skills: it is the one thing that lifts a pause.
package control
