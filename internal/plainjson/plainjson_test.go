package plainjson_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/plainjson"
)

func TestMarshal(t *testing.T) {
	b, err := plainjson.Marshal(map[string]string{"a": "<b> & \"c\"\n"})
	require.NoError(t, err)
	require.Equal(t, `{"a":"<b> & \"c\"\n"}`, string(b))
	_, err = plainjson.Marshal(make(chan int))
	require.Error(t, err)
}
