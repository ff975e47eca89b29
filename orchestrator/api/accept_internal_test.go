package api

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Who says that the answer's form is no answer is refused; who says nothing, or nothing that can be read, takes it.
func TestAccept(t *testing.T) {
	for _, c := range []struct {
		form   string
		values []string
		taken  bool
	}{
		{formJSON, nil, true},
		{formJSON, []string{""}, true},
		{formJSON, []string{"*/*"}, true},
		{formJSON, []string{"application/*;q=0.1"}, true},
		{formJSON, []string{"text/html, application/json;q=0.5"}, true},
		{formJSON, []string{"text/html", "Application/JSON; charset=utf-8"}, true},
		{formJSON, []string{"*/*;q=0, application/json"}, true},
		{formJSON, []string{"nonsense;;"}, true},
		{formJSON, []string{"application/xml;q=1, */*;q=0"}, false},
		{formJSON, []string{"application/json;q=0, */*"}, false},
		{formJSON, []string{"application/*;q=0, */*;q=1"}, false},
		{formJSON, []string{"text/html"}, false},
		{formJSON, []string{formEvents}, false},
		{formEvents, []string{formEvents}, true},
		{formEvents, []string{"text/*"}, true},
		{formEvents, []string{formJSON}, false},
	} {
		require.Equal(t, c.taken, checkAccept(c.values, c.form) == nil, "%s: %q", c.form, c.values)
	}
}
