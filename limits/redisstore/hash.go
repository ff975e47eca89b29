package redisstore

import "context"

// Hash is a small table of names and texts on the server, for what processes
// tell each other. It has no end: what is put there stays until it is deleted.
type Hash struct {
	s   *Store
	key string
}

// Put sets a name's text.
func (h *Hash) Put(ctx context.Context, name, text string) error {
	return h.s.askServer(ctx, func(ctx context.Context) error { return h.s.client.HSet(ctx, h.key, name, text).Err() })
}

// Delete removes a name.
func (h *Hash) Delete(ctx context.Context, name string) error {
	return h.s.askServer(ctx, func(ctx context.Context) error { return h.s.client.HDel(ctx, h.key, name).Err() })
}

// All returns every name with its text.
func (h *Hash) All(ctx context.Context) (all map[string]string, err error) {
	err = h.s.askServer(ctx, func(ctx context.Context) error {
		all, err = h.s.client.HGetAll(ctx, h.key).Result()
		return err
	})
	return all, err
}
