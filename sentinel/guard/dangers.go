package guard

import "github.com/vedette-dev/vedette/sentinel/touch"

// dangerCode is the guard's code for one of touch's dangers.
func dangerCode(danger string) string {
	if danger == touch.Operator {
		return CodeOperator
	}
	return CodeIrrecoverable
}
