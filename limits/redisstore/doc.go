// Package redisstore keeps the counts of package limits on a Redis server. So several
// processes share one budget and one breaker for each skill.
//
//	s, err := redisstore.Open(redisstore.Options{URL: "rediss://user:secret@redis.internal/0"})
//	defer s.Close()
//	l, err := limits.New(limits.Config{}, s)
//
// The package isn't stable: docs/api.md lists those that are.
//
// Each question is one script. The server runs the script in one atomic step under its
// own clock: clocks of clients don't matter. Repeating a question with the id of its
// call changes nothing. So the client repeats a question whose answer was lost. All
// keys have a time to live.
//
//	{prefix}:b:{owner}/…   a sorted set for each bucket: call ids by time
//	{prefix}:i:{owner}     which lifetime buckets an owner has, for Forget
//	{prefix}:f:{key}       a breaker's failures
//	{prefix}:s:{key}       a breaker that is open or half-open
//
// The braces put all keys of one question in one slot of a cluster. For that, the
// buckets of one Take must have one owner. The client talks to one
// address: a server, or a proxy before a cluster.
//
// A server that is away. Options.Timeout bounds every call, connecting and one
// repetition included. A call's error then wraps limits.ErrAway: no connection,
// silence, a server that is loading, failing over or read-only. After three such
// errors in a row, one call in each Options.Retry tries the server. The others fail at
// once. So a silent server costs only that one call its time-out. The first call
// that the server answers ends this state. The store logs and counts ([Store.Stats])
// when the server goes away and comes back, and calls Options.Observe. A server that
// refuses (password, rights, memory) isn't away. That error is of another kind:
// limits.ErrFull where the server's memory is full.
//
// What NOT to do. Don't use a server that evicts keys (maxmemory-policy other
// than noeviction or volatile-ttl): an evicted key is a lifted limit. Don't
// expect counts to outlive a server without persistence: use appendonly. Don't
// share a prefix and a database between deployments that must not share
// budgets. Server 6.2 or newer.
package redisstore
