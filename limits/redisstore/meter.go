package redisstore

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"

	"github.com/vedette-dev/vedette/limits"
)

//go:embed spend.lua
var spendSource string

var spendScript = redis.NewScript(spendSource)

// Hold implements limits.Store; its errors are Take's.
func (s *Store) Hold(ctx context.Context, id string, meters []limits.Meter) (limits.Metered, error) {
	none := limits.Metered{Full: -1}
	got, err := s.runMeterScript(ctx, "1", id, meters)
	if err != nil {
		return none, err
	}
	if got[0] < 0 {
		return limits.Metered{OK: true, Full: -1}, nil
	}
	return limits.Metered{Full: int(got[0]), Used: got[1], Held: got[2], RetryAfter: fromMicroseconds(got[3])}, nil
}

// Spend implements limits.Store; its errors are Take's.
func (s *Store) Spend(ctx context.Context, id string, meters []limits.Meter) error {
	_, err := s.runMeterScript(ctx, "0", id, meters)
	return err
}

// runMeterScript holds or spends an id's amounts and returns the script's four
// numbers.
func (s *Store) runMeterScript(ctx context.Context, hold, id string, meters []limits.Meter) ([]int64, error) {
	if err := limits.CheckMeters(id, meters); err != nil {
		return nil, err
	}
	keys := make([]string, 0, 3*len(meters))
	args := make([]any, 0, 4+4*len(meters))
	args = append(args, id, s.idle.Milliseconds(), slack.Milliseconds(), hold)
	for _, m := range meters {
		times, index := s.bucketKeys(m.Key)
		keys = append(keys, times, times+"/amounts", index)
		args = append(args, m.Max, toMicroseconds(m.Window), m.Amount, toMicroseconds(m.Fold))
	}
	return s.runScript(ctx, spendScript, 4, keys, args...)
}
