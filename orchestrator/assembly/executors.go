package assembly

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/builtin/email"
	"github.com/vedette-dev/vedette/skills/builtin/files"
	"github.com/vedette-dev/vedette/skills/credential"
	"github.com/vedette-dev/vedette/skills/run/exec"
	"github.com/vedette-dev/vedette/skills/run/http"
	"github.com/vedette-dev/vedette/skills/run/template"
)

// signRequest signs one request of a call.
type signRequest = func(skills.Order, http.Request) (string, error)

// newExecutors makes what runs each skill. A skill without a way to run, such as
// one read from a SKILL.md, gets none: its calls are denied.
func newExecutors(cfg *config.Config, o Options, natives map[string]skills.RunFunc, r skills.Redeemer,
	tokens signRequest) (map[string]skills.Executor, error) {
	out := map[string]skills.Executor{}
	var errs []error
	book := newCredentials(cfg, o)
	for _, l := range cfg.Skills {
		if l.Known {
			continue // the program runs it
		}
		e, err := newExecutor(cfg, o, l.Skill, r, tokens, book)
		if err != nil {
			errs = append(errs, cfg.LocateSkill(l.Skill.Name(), err))
			continue
		}
		if e != nil {
			out[l.Skill.Name()] = e
		}
	}
	if newLayers(cfg).NeedCommit(listSkills(cfg)) {
		s, err := skills.Compile(exec.CommitSpec())
		if err != nil {
			return nil, err
		}
		out[s.Name()] = exec.NewCommit(s, r, exec.CommitOptions{State: snapshotFolder(cfg)})
	}
	for _, g := range o.Skills {
		if err := checkCredentials(g, book); err != nil {
			errs = append(errs, err)
		}
		out[g.Skill().Name()] = g.ExecutorWith(r, book)
	}
	for _, n := range listNatives(cfg, o) {
		s, err := skills.Compile(n.Spec)
		if err != nil {
			return nil, err
		}
		out[n.Spec.Name] = skills.NewExecutor(r, s, natives[n.Spec.Name])
	}
	return out, errors.Join(errs...)
}

// folderOfOptions is what relative paths in skills' options resolve against.
func folderOfOptions(cfg *config.Config) string {
	if cfg.File != "" {
		if abs, err := filepath.Abs(cfg.File); err == nil {
			return filepath.Dir(abs)
		}
	}
	return filepath.Dir(cfg.Ledger.Path)
}

// newExecutor makes what runs a skill of the configuration; nil where nothing does.
func newExecutor(
	cfg *config.Config, o Options, s *skills.Skill, r skills.Redeemer, tokens signRequest, book *credential.Book,
) (skills.Executor, error) {
	dir := folderOfOptions(cfg)
	switch kind := s.Spec().Run.Kind; kind {
	case "":
		return nil, nil
	case "template":
		return template.New(s, r, template.Options{})
	case "exec":
		return exec.New(s, r, exec.Options{
			Dir: dir, Credentials: book, AllowHosts: listAllowedHosts(cfg), Lookup: o.Lookup, Guarded: listGuarded(cfg),
			State: snapshotFolder(cfg), CanSnapshot: o.canSnapshot,
		})
	case "http":
		return http.New(s, r, http.Options{Token: tokens, Lookup: o.Lookup, AllowHosts: listAllowedHosts(cfg), Credentials: book})
	case "builtin":
		return newBuiltin(s, r, dir)
	case "mcp":
		return nil, &skills.PathError{Path: "run.mcp", Msg: "is not built in this version; run the skill with http, exec, builtin or template"}
	default:
		return nil, &skills.PathError{Path: "run." + kind, Msg: "this version can't run skills that way; say template, exec, http or builtin"}
	}
}

// listAllowedHosts returns guard.allow_hosts in the spelling that addresses have. What the
// guard lets through is what the runner may connect to.
func listAllowedHosts(cfg *config.Config) []string {
	out := make([]string, len(cfg.Guard.AllowHosts))
	for i, h := range cfg.Guard.AllowHosts {
		out[i], _ = touch.ParseHost(h)
	}
	return out
}

// newBuiltin finds the built-in domain by what its options name: a folder of
// files, or a Maildir. The last part of the skill's name says which of the
// domain's skills it is, so an operator may call the domain something else.
func newBuiltin(s *skills.Skill, r skills.Redeemer, dir string) (skills.Executor, error) {
	var o map[string]json.RawMessage
	_ = json.Unmarshal(s.Spec().Run.Options, &o) // the domain reports what is wrong with them
	domain, _, _ := strings.Cut(s.Name(), ".")
	switch {
	case o["maildir"] != nil || domain == "email":
		return email.New(s, r, email.Options{Dir: dir})
	case o["root"] != nil || domain == "files":
		return files.New(s, r, files.Options{Dir: dir})
	}
	return nil, &skills.PathError{Path: "run.builtin", Msg: "names neither root (skills over files) nor maildir (skills over mail)"}
}
