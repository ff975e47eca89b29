package cases

// The codes of an Error.
const (
	CodeTooLong   = "case.too_long"
	CodeSyntax    = "case.syntax"
	CodeUTF8      = "case.utf8"
	CodeDuplicate = "case.duplicate_key"
	CodeUnknown   = "case.unknown_key"
	CodeMissing   = "case.missing"
	CodeType      = "case.type"
	CodeValue     = "case.value"
	CodeInternal  = "case.internal"
)

// Error says why a line is no case. Message tells what to do about it and holds
// no value of the line; it may quote the start of a key.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }
