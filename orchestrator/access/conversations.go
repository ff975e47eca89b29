package access

import "github.com/vedette-dev/vedette/internal/ids"

// ofUser is the kind of owner whose names for conversations are these: users, whichever token acts for them.
const ofUser = "user"

// ConversationID returns the id under which what a user calls by name is kept. That is the name itself where the
// conversation is the user's under it, as one of the pages or of the program's is, and where the name is one that
// was made here. Each other name has the user's mark, so another user's name is no obstacle, and can't be seen.
// ownerOf returns whose the conversation of an id is, empty for none. The error is its own: without an owner a
// name could mean another conversation than before.
func ConversationID(user, name string, ownerOf func(id string) (string, error)) (string, error) {
	owner, err := ownerOf(name)
	switch {
	case err != nil:
		return "", err
	case owner == user || owner == "" && ids.IsMade(name):
		return name, nil
	}
	return ids.OfName(ofUser, user, name), nil
}

// ConversationName returns what a user calls the conversation of an id.
func ConversationName(user, id string) string { return ids.NameOf(ofUser, user, id) }
