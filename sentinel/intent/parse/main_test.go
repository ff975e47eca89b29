package parse_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/sentinel/intent/parse"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

func TestMain(m *testing.M) {
	exec.MaybeChild()
	parse.MaybeHelper(exec.IsHelper(parse.HelperKind))
	playHostile()
	goleak.VerifyTestMain(m)
}

// startHelper starts a parser's process in the sandbox.
func startHelper(ctx context.Context) (parse.Process, error) {
	h, err := exec.StartHelper(ctx, parse.HelperKind)
	if err != nil {
		return nil, err
	}
	return h, nil
}
