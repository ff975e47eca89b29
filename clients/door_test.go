package clients_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The openai packages of PyPI and npm get their answers from the door for chat interfaces, whole and streamed,
// and read its refusals.
func TestChatDoor(t *testing.T) {
	r := newRig(t)
	r.build()
	for name, command := range map[string][]string{
		"pypi": {r.python, filepath.Join("python", "tests", "door_openai.py")},
		"npm":  {r.node, filepath.Join(r.built, "dist", "test", "door.js")},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], "How are you, "+name+"?")...)
			cmd.Env = append(os.Environ(), "VEDETTE_URL="+r.url, "CHAT_TOKEN="+r.makeToken("chat-"+name, "chat"))
			var got struct {
				Models                []string
				Whole, Finish, Stream string
				StreamFinish          string `json:"stream_finish"`
				WrongKey              string `json:"wrong_key"`
				WrongModel            string `json:"wrong_model"`
				WrongRequest          string `json:"wrong_request"`
			}
			require.NoError(t, json.Unmarshal([]byte(r.must(cmd)), &got))
			require.Equal(t, []string{"vedette"}, got.Models)
			require.Equal(t, "You said: How are you, "+name+"?", got.Whole)
			require.Equal(t, got.Whole, got.Stream)
			require.Equal(t, []string{"stop", "stop"}, []string{got.Finish, got.StreamFinish})
			require.Equal(t, []string{"AuthenticationError", "NotFoundError", "BadRequestError"},
				[]string{got.WrongKey, got.WrongModel, got.WrongRequest})
		})
	}
}
