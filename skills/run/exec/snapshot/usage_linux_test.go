package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a program writes to a folder that it closed to readers isn't out of measure.
func TestMeasureOfAClosedFolder(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		for _, script := range []string{
			"mkdir d; chmod 300 d; head -c 300000 /dev/zero >d/hidden", "mkdir d; chmod 400 d; head -c 300000 /dev/zero >seen",
			"chmod 300 .; head -c 300000 /dev/zero >hidden",
		} {
			s := newSite(t, false)
			l := s.open(t, func(o *Options) { o.Limits = Limits{Bytes: 200_000} })
			runIn(t, l, script)
			_, err := l.Measure(t.Context())
			var limit *LimitError
			require.ErrorAs(t, err, &limit, script)
		}
	})
}

// A layer is bounded in paths, bytes and depth, while the program runs and when it is listed.
func TestLimits(t *testing.T) {
	rows := map[string]struct {
		script string
		limits Limits
		want   *LimitError
		usage  bool // seen while the program runs
	}{
		"paths": {"for i in $(seq 30); do : >$i; done", Limits{Changes: 20}, &LimitError{"changes", 20}, true},
		"paths in folder": {"mkdir a b c; for i in $(seq 9); do : >a/$i; : >b/$i; : >c/$i; done", Limits{Changes: 20},
			&LimitError{"changes", 20}, true},
		"removed": {"rm -r many", Limits{Changes: 20}, &LimitError{"changes", 20}, false},
		"bytes":   {"head -c 300000 /dev/zero >zero", Limits{Bytes: 200_000}, &LimitError{"bytes", 200_000}, true},
		"sparse":  {"truncate -s 1T zero", Limits{}, &LimitError{"bytes", 1 << 30}, false},
		"bytes of many": {"for i in $(seq 4); do head -c 60000 /dev/zero >$i; done", Limits{Bytes: 200_000},
			&LimitError{"bytes", 200_000}, true},
		"depth": {"mkdir -p 1/2/3/4/5/6/7", Limits{Depth: 5}, &LimitError{"folders in each other", 5}, true},
		"path": {`n=$(printf "n%.0s" {1..250}); for i in $(seq 17); do mkdir $n; cd $n; done`, Limits{},
			&LimitError{"bytes of a path", maxPath}, false},
		"within": {"mkdir -p 1/2; head -c 1000 /dev/zero >1/2/z", Limits{Changes: 20, Bytes: 200_000, Depth: 3}, nil, false},
	}
	for name, row := range rows {
		s := newSite(t, false)
		fillTree(t, s.root, map[string]string{"many/": ""})
		runDirectly(t, s.root, "for i in $(seq 30); do : >many/$i; done")
		before := dumpTree(t, s.root)
		l := s.open(t, func(o *Options) { o.Limits = row.limits })
		runIn(t, l, row.script)
		_, err := l.Measure(t.Context())
		if row.usage {
			require.Equal(t, row.want, err, name)
		} else {
			require.NoError(t, err, name)
		}
		_, err = l.Changes(t.Context())
		if row.want == nil {
			require.NoError(t, err, name)
		} else {
			var limit *LimitError
			require.ErrorAs(t, err, &limit, name)
			require.Equal(t, row.want, limit, name)
		}
		require.Equal(t, before, dumpTree(t, s.root))
		require.NoError(t, l.Discard(), name)
	}
}

// A program that takes most of the disk is ended, also where no name leads to what it took.
func TestMeasureOfTheDisk(t *testing.T) {
	s := newSite(t, false)
	l := s.open(t)
	_, err := l.Measure(t.Context())
	require.NoError(t, err)
	again, err := Load(s.state, l.ID())
	require.NoError(t, err)
	require.Equal(t, l.meta.Free, again.meta.Free)
	require.Positive(t, again.meta.Free)
	again.meta.Free *= 5 // as if four fifths had been taken since
	_, err = again.Measure(t.Context())
	require.Equal(t, &LimitError{"percent of the disk that was free", 75}, err)
}
