package redisstore

import (
	"context"
	_ "embed"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/vedette-dev/vedette/limits"
)

//go:embed take.lua
var takeSource string

var takeScript = redis.NewScript(takeSource)

// Take implements limits.Store. limits.ErrAway: the server couldn't be asked. The
// id may have been put in all the same, and asking again is free. limits.ErrFull:
// the server's memory is full.
func (s *Store) Take(ctx context.Context, id string, buckets []limits.Bucket) (limits.Taken, error) {
	none := limits.Taken{Full: -1}
	if err := limits.CheckTake(id, buckets); err != nil {
		return none, err
	}
	keys := make([]string, 0, 2*len(buckets))
	args := make([]any, 0, 3+2*len(buckets))
	args = append(args, id, s.idle.Milliseconds(), slack.Milliseconds())
	for _, b := range buckets {
		bucket, index := s.bucketKeys(b.Key)
		keys = append(keys, bucket, index)
		args = append(args, b.Max, toMicroseconds(b.Window))
	}
	got, err := s.runScript(ctx, takeScript, 3, keys, args...)
	if err != nil {
		return none, err
	}
	if got[0] < 0 {
		return limits.Taken{OK: true, Full: -1, Used: int(got[1])}, nil
	}
	return limits.Taken{Full: int(got[0]), Used: int(got[1]), RetryAfter: fromMicroseconds(got[2])}, nil
}

// Forget implements limits.Store. It reads which buckets there are and drops
// them in a second step: one that is made in between stays.
func (s *Store) Forget(ctx context.Context, prefix string) error {
	if err := limits.CheckForget(prefix); err != nil {
		return err
	}
	under, index := s.bucketKeys(prefix)
	return s.askServer(ctx, func(ctx context.Context) error {
		known, err := s.client.ZRange(ctx, index, 0, -1).Result()
		if err != nil {
			return err
		}
		var keys []string
		var members []any
		for _, key := range known {
			if rest, ok := strings.CutPrefix(key, under); ok && (rest == "" || rest[0] == '/') {
				keys, members = append(keys, key), append(members, key)
			}
		}
		if len(keys) == 0 {
			return nil
		}
		_, err = s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Unlink(ctx, keys...)
			p.ZRem(ctx, index, members...)
			return nil
		})
		return err
	})
}

// bucketKeys returns a bucket's key and that of its owner's index. The text in the
// braces decides the slot in a cluster.
func (s *Store) bucketKeys(key string) (bucket, index string) {
	owner, _, _ := strings.Cut(key, "/")
	return s.prefix + ":b:{" + owner + "}" + key[len(owner):], s.prefix + ":i:{" + owner + "}"
}
