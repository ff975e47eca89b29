package otp

// Server is one process's behaviour. Its methods are called one at a time, by
// whatever goroutine the runtime chooses, so a Server needs no locks. It must
// block only in work that ends with Context.Context; long work belongs in
// Context.Async.
type Server interface {
	// Init prepares the state. An error or a panic fails the start; ErrIgnore
	// means that nothing is to run.
	Init(c *Context) error
	// Handle takes one message: what was sent or called, or Down, TaskResult,
	// Reply and timer messages. A panic ends this incarnation.
	Handle(c *Context, msg any)
	// Terminate cleans up. It is called after the last Handle if Init
	// succeeded, and never after a kill: do not rely on it for what must be
	// durable. Context.Context is cancelled by then.
	Terminate(c *Context, reason Reason)
}
