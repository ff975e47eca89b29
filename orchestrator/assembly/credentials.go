package assembly

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/credential"
)

// newCredentials returns what finds the credentials of a configuration.
func newCredentials(cfg *config.Config, o Options) *credential.Book {
	sources := map[string]credential.Source{}
	for name, c := range cfg.Credentials {
		sources[name] = credential.Source(c)
	}
	return credential.New(credential.Options{Sources: sources, Program: o.Credentials})
}

// checkResolver refuses credentials that are left to a program which finds none.
func checkResolver(cfg *config.Config, o Options) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(cfg.Credentials)) {
		if cfg.Credentials[name].Program && o.Credentials == nil {
			errs = append(errs, &skills.PathError{Path: "credentials." + name + ".program",
				Msg: "is true, and the program gives no resolver; set Credentials in its options, or say env or file"})
		}
	}
	return errors.Join(errs...)
}

// checkCredentials refuses a Go skill that uses a credential without a place.
func checkCredentials(g *skills.GoSkill, book *credential.Book) error {
	var errs []error
	for _, name := range g.Credentials() {
		if !slices.Contains(book.Names(), name) {
			errs = append(errs, fmt.Errorf("skill %q uses the credential %q; the configuration has none of that name under credentials",
				g.Skill().Name(), name))
		}
	}
	return errors.Join(errs...)
}
