package command

import (
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/vedette-dev/vedette/config"
)

// included returns the pattern of skills.include that takes in a name, whether it
// is there or not: the next to read the configuration would read it. Empty where
// none does.
func included(cfg *config.Config, from, name string) string {
	for _, pattern := range cfg.SkillFiles.Include {
		base, rest := doublestar.SplitPattern(filepath.ToSlash(pattern))
		if !filepath.IsAbs(base) {
			base = filepath.Join(filepath.Dir(from), base)
		}
		rel, err := filepath.Rel(settled(base), settled(name))
		if err != nil || strings.HasPrefix(rel, "..") {
			continue
		}
		if ok, err := doublestar.Match(rest, filepath.ToSlash(rel)); ok && err == nil {
			return pattern
		}
	}
	return ""
}
