package guard

import "github.com/vedette-dev/vedette/sentinel/touch"

// The closed list of the guard's codes.
const (
	CodeIrrecoverable = "guard.irrecoverable"
	CodeOperator      = "guard.operator"
	CodeForbidden     = "guard.forbidden_path"
	CodeProtected     = "guard.protected"
	CodeOutside       = "guard.outside_roots"
	CodeUnparsed      = "guard.unparsed_shell"
	CodeDynamic       = "guard.dynamic"
	CodeDestructive   = "guard.destructive"
	CodeSensitive     = "guard.sensitive_path"
	CodeInjected      = "guard.shell_in_argument"
	CodeExceeded      = "guard.effect_exceeded"
	CodePrivateHost   = "guard.private_host"
	CodeUnread        = "guard.unread"
	CodeUnconfined    = "guard.unconfined"
	CodeNoUndo        = "guard.no_undo"
	CodeCommit        = "guard.commit"
)

// order ranks the codes: the worst one names the verdict.
var codeOrder = []string{
	CodeIrrecoverable, CodeOperator, CodeForbidden, CodeProtected, CodeOutside, CodeInjected, CodeExceeded, CodePrivateHost, CodeUnparsed,
	CodeCommit, CodeDestructive, CodeSensitive, CodeUnread, CodeUnconfined, CodeNoUndo, CodeDynamic,
}

// explainCode says for people what each code means.
func explainCode(code string) string {
	switch code {
	case CodeIrrecoverable:
		return "the command would do what can't be undone"
	case CodeOperator:
		return "only an operator gives this program orders"
	case CodeForbidden:
		return "a path that is never allowed"
	case CodeProtected:
		return "a file of this program"
	case CodeOutside:
		return "a path outside the configured roots"
	case CodeUnparsed:
		return "a command line that can't be read"
	case CodeInjected:
		return "a command or an option in an argument that holds none"
	case CodeExceeded:
		return "the command does more than the skill declares"
	case CodePrivateHost:
		return "an address that is not on the Internet"
	case CodeCommit:
		return "what the program changed calls for a person"
	case CodeDestructive:
		return "what is lost can't be brought back"
	case CodeSensitive:
		return "a place that calls for a person"
	case CodeUnread:
		return "a part of the command line can't be read"
	case CodeUnconfined:
		return "the command does more than read, and no sandbox holds it"
	case CodeNoUndo:
		return "the command does more than read, and what it writes can't be undone"
	}
	return "what would run can't be known beforehand"
}

func adviseForCode(code string) string {
	switch code {
	case CodeOutside:
		return "Use a path inside the workspace."
	case CodeUnparsed, CodeDynamic, CodeUnread:
		return "Write the command out in full: plain words, closed quotes, nothing piped into a shell."
	case CodeInjected:
		return "Give the plain name, address or path alone."
	case CodeExceeded:
		return "Use a skill whose declared effect covers this."
	case CodePrivateHost:
		return "Use a public address, or tell the user which host is needed: an operator can allow it by name."
	case CodeDestructive, CodeSensitive, CodeUnconfined, CodeNoUndo:
		return "Say why it is needed and wait for the approval, or do it without this step."
	}
	return "Do without it, or tell the user that it is needed. No wording of this call will be allowed."
}

// doubtCode is the guard's code for one of touch's doubts.
func doubtCode(doubt string) string {
	switch doubt {
	case touch.OpaqueCommand, touch.UnsetTree, touch.UnknownTarget, touch.VolumeRemoval:
		return CodeDynamic
	case touch.Persistence:
		return CodeSensitive
	}
	return CodeDestructive
}

// dangerCode is the guard's code for one of touch's dangers.
func dangerCode(danger string) string {
	if danger == touch.Operator {
		return CodeOperator
	}
	return CodeIrrecoverable
}

// commitReason keeps a skill's own word out of the record, unless it is a known one.
func commitReason(word string) string {
	switch word {
	case "deleted", "runs_later", "refused", "names":
		return word
	}
	return "other"
}
