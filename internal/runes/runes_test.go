package runes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/runes"
)

func TestIsInvisible(t *testing.T) {
	for _, r := range "\x00\x1b\x7f\u0085\u00ad\u034f\u061c\u115f\u1160\u17b4\u180e\u200b\u200c\u200d\u200e\u2028\u2029\u202e" +
		"\u2060\u2066\u2800\u3164\ufe0f\ufeff\uffa0\ufff9\U000e0001\U000e0041\U000e0100" {
		require.True(t, runes.IsInvisible(r), "%U", r)
	}
	for _, r := range "\t\n\r aZ0~\u00a0éß中ก\u0301€😀\ue000\ufffd" {
		require.False(t, runes.IsInvisible(r), "%U", r)
	}
}
