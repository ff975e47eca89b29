package assembly

import (
	"os"
	"path/filepath"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/sentinel/touch"
)

// newEnvironment returns what paths in calls are resolved against.
func newEnvironment(cfg *config.Config, noFS bool) touch.Env {
	env := touch.Env{NoFS: noFS}
	if len(cfg.Guard.Roots) > 0 {
		env.Root = cfg.Guard.Roots[0]
	}
	if home, err := os.UserHomeDir(); err == nil {
		env.Home = home
	}
	for _, exe := range listProgram() {
		env.Program = exe
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			env.Program = real
		}
	}
	return env
}
