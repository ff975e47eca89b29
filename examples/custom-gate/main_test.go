package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
)

// The gate of the program's own refuses what costs too much, beside the gates that can't be left out.
func TestDecide(t *testing.T) {
	for args, want := range map[string]struct {
		outcome sentinel.Outcome
		code    string
	}{
		`{"cost":100}`:           {sentinel.Allow, ""},
		`{"cost":101}`:           {sentinel.Deny, "shop.budget"},
		`{"cost":"much"}`:        {sentinel.Deny, "schema.invalid"},
		`{"cost":1,"to":"mine"}`: {sentinel.Deny, "schema.invalid"},
	} {
		d, err := decide(t.Context(), json.RawMessage(args))
		require.NoError(t, err)
		require.Equal(t, want.outcome, d.Outcome, args)
		require.Equal(t, want.code, d.Code, args)
	}
}
