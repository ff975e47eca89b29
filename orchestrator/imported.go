package orchestrator

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/loop"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// maxContext bounds ConversationOptions.Context in bytes.
const maxContext = 16 << 10

// importedSkill names imported messages where results of skills have a skill. No skill's
// name has a blank.
const importedSkill = "imported message"

// checkSaid refuses what a program says of the user, or of what was said before, where it is
// too long or no text.
func (co *ConversationOptions) checkSaid() error {
	if len(co.Context) > maxContext || !utf8.ValidString(co.Context) {
		return fmt.Errorf("%w: the context of a user is text of at most %d bytes", ErrRequest, maxContext)
	}
	return checkEarlier(co.History)
}

// checkEarlier refuses messages of a client that are too many, too long or no text.
func checkEarlier(list []EarlierMessage) error {
	n := 0
	for _, m := range list {
		if m.Role != MessageOfUser && m.Role != MessageOfAssistant {
			return fmt.Errorf("%w: an imported message is the user's or the assistant's", ErrRequest)
		}
		if !utf8.ValidString(m.Text) {
			return fmt.Errorf("%w: an imported message is text in UTF-8", ErrRequest)
		}
		n += len(m.Text)
	}
	if len(list) > maxHistory || n > maxHistoryBytes {
		return fmt.Errorf("%w: at most %d messages of %d bytes together can be imported", ErrRequest, maxHistory, maxHistoryBytes)
	}
	return nil
}

// importMessages are imported messages as the model reads them.
func importMessages(list []EarlierMessage) loop.Messages {
	var out loop.Messages
	for _, m := range list {
		role := llm.RoleUser
		if m.Role == MessageOfAssistant {
			role = llm.RoleAssistant
		}
		out = append(out, llm.Message{Role: role, Content: m.Text})
	}
	return out
}

// readImported are imported messages as the sentinel sees them: text that any stranger may have written.
func readImported(list loop.Messages) []sentinel.Step {
	var out []sentinel.Step
	for _, m := range list {
		out = append(out, sentinel.Step{Skill: importedSkill, Result: m.Content, Trust: skills.Untrusted})
	}
	return out
}

// describeUser is what the model is told of the user.
func describeUser(context string) string {
	if strings.TrimSpace(context) == "" {
		return ""
	}
	return "\nAbout the user:\n" + context + "\n"
}
