//go:build realserver

package scripted_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A real server keeps the contract that the scripted one is held to. This test
// exists with the build tag alone, so that it can't pass where no server is:
//
//	VEDETTE_TEST_BASE_URL=… VEDETTE_TEST_MODEL=… go test -tags realserver ./agents/llm/scripted
func TestContractOfARealServer(t *testing.T) {
	p := realParty()
	require.NotEmpty(t, p.base, "VEDETTE_TEST_BASE_URL is not set: name a model server in it, such as http://127.0.0.1:8080/v1")
	require.NotEmpty(t, p.model, "VEDETTE_TEST_MODEL is not set: name a model of the server in it")
	t.Logf("asking the real server of VEDETTE_TEST_BASE_URL for the model %s", p.model)
	contract(t, p)
}

func realParty() party {
	return party{
		base: strings.TrimRight(os.Getenv("VEDETTE_TEST_BASE_URL"), "/"), key: os.Getenv("VEDETTE_TEST_API_KEY"),
		model:    os.Getenv("VEDETTE_TEST_MODEL"),
		anyModel: os.Getenv("VEDETTE_TEST_ANY_MODEL") != "", legacy: os.Getenv("VEDETTE_TEST_LEGACY_MAX_TOKENS") != "",
		unforced: os.Getenv("VEDETTE_TEST_NO_FORCED_TOOL") != "",
	}
}
