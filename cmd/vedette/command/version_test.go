package command

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The build says what is known of it, and no more.
func TestReadBuild(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
	}}
	b := readBuild(info, true)
	require.Equal(t, "v1.2.3", b.Version)
	require.Equal(t, "2026-01-02T03:04:05Z", b.Time)
	require.True(t, strings.HasPrefix(b.String(), "vedette v1.2.3 (commit 0123456789ab, modified) go1."), b.String())
	require.True(t, strings.HasPrefix(readBuild(nil, false).String(), "vedette (devel) go1."))
	require.Contains(t, readBuild(nil, false).String(), "commit unknown: built without version control")
	in := readBuild(&debug.BuildInfo{Main: debug.Module{Path: "example.com/mine", Version: "v9.9.9"},
		Deps: []*debug.Module{{Path: modulePath, Version: "v1.2.3"}}}, true)
	require.Equal(t, "v1.2.3", in.Version, "a program that embeds Vedette tells Vedette's version")
}
