package snapshot

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// probeTries and probeWait bound how long Open waits for the kernel's clock to tick. Before
// Linux 6.13 file times are as coarse as that tick.
const (
	probeTries = 40
	probeWait  = 500 * time.Microsecond
)

// probeStartTime returns a change time later than that of anything changed before. What was
// changed in the same tick would otherwise look as if others had done it since.
func probeStartTime(file string) (int64, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	var first, now unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &first); err != nil {
		return 0, err
	}
	for range probeTries {
		if err := f.Chmod(0o600); err != nil {
			return 0, err
		}
		if err := unix.Fstat(int(f.Fd()), &now); err != nil {
			return 0, err
		}
		if now.Ctim.Nano() > first.Ctim.Nano() {
			break
		}
		time.Sleep(probeWait)
	}
	return now.Ctim.Nano(), nil
}

// clockTries is how often clocks are read; the reading with the least between counts.
const clockTries = 5

// clockOffset returns this start of the system, and how far its wall clock is ahead of
// the time since then. The two can't be read at once, so the truth is from low to high.
func clockOffset() (boot string, low, high int64, err error) {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0, 0, fmt.Errorf("snapshot: read the boot id: %w", err)
	}
	for i := range clockTries {
		var before, wall, after unix.Timespec
		err := errors.Join(unix.ClockGettime(unix.CLOCK_BOOTTIME, &before), unix.ClockGettime(unix.CLOCK_REALTIME, &wall),
			unix.ClockGettime(unix.CLOCK_BOOTTIME, &after))
		if err != nil {
			return "", 0, 0, fmt.Errorf("snapshot: read the clock: %w", err)
		}
		if span := after.Nano() - before.Nano(); i == 0 || span < high-low {
			low, high = wall.Nano()-after.Nano(), wall.Nano()-before.Nano()
		}
	}
	return strings.TrimSpace(string(raw)), low, high, nil
}

// clockSlack is how far the offset of the clock may shrink without having been set back.
const clockSlack = 2_000_000 // nanoseconds

// isChangedSinceStart reports whether something was changed since the start.
func (m *meta) isChangedSinceStart(st unix.Stat_t) bool {
	if st.Ctim.Nsec == 0 {
		// A file system that counts whole seconds: the start's own second is too coarse.
		return st.Ctim.Nano() >= m.Started-2e9
	}
	return st.Ctim.Nano() >= m.Started
}

// isClockBack reports whether the clock was set back since the start. Changes of others may
// then look older than they are.
func (m *meta) isClockBack() (bool, error) {
	boot, _, offset, err := clockOffset()
	if err != nil {
		return false, err
	}
	if boot != m.Boot {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
			return false, fmt.Errorf("snapshot: read the clock: %w", err)
		}
		return now.Nano() < m.Started, nil
	}
	return offset < m.Offset-clockSlack, nil
}
