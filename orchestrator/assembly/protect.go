package assembly

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/sentinel/guard"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

// listProtected returns the files that decide what is allowed: no call may write one.
func listProtected(cfg *config.Config) []string {
	return slices.Concat(listProgram(), cfg.Files, listDatabaseFiles(cfg), cfg.Ledger.AnchorFiles(), listSink(cfg),
		[]string{snapshotFolder(cfg)})
}

// listSink returns the folder of the ledger's sink, where there is one.
func listSink(cfg *config.Config) []string {
	if cfg.Ledger.Sink == "" {
		return nil
	}
	return []string{cfg.Ledger.Sink}
}

// listSecret returns the keys, the users' credentials and the owner's socket. A program
// opens them by what looks like reading, so no call may name them.
func listSecret(cfg *config.Config) []string {
	list := append([]string{cfg.Keys.Dir, control.SocketPath(cfg.Ledger.Path)}, cfg.CredentialFolders()...)
	return append(list, cfg.Server.SecretFiles()...)
}

// listGuarded returns the same files for programs: what none may write, and the folders and
// files that none may read.
func listGuarded(cfg *config.Config) []exec.Guarded {
	out := []exec.Guarded{
		{What: "the keys", Path: cfg.Keys.Dir, Secret: true},
		{What: "the owner's socket", Path: control.SocketPath(cfg.Ledger.Path), Secret: true},
		{What: "what programs wrote and isn't committed yet", Path: snapshotFolder(cfg), Secret: true},
	}
	for _, dir := range cfg.CredentialFolders() {
		out = append(out, exec.Guarded{What: "the credentials", Path: dir, Secret: true})
	}
	for _, path := range cfg.Server.SecretFiles() {
		out = append(out, exec.Guarded{What: "a secret of the server", Path: path, Secret: true})
	}
	for _, path := range listDatabaseFiles(cfg) {
		out = append(out, exec.Guarded{What: "the database", Path: path, Secret: true})
	}
	for _, path := range cfg.Ledger.AnchorFiles() {
		out = append(out, exec.Guarded{What: "the ledger's anchor", Path: path})
	}
	for _, path := range listSink(cfg) {
		out = append(out, exec.Guarded{What: "the sink of the ledger", Path: path, Secret: true})
	}
	for i, path := range cfg.Files {
		what := "the configuration"
		if i > 0 {
			what = "a file of the configuration"
		}
		out = append(out, exec.Guarded{What: what, Path: path})
	}
	for _, path := range listProgram() {
		out = append(out, exec.Guarded{What: "the running program", Path: path})
	}
	return out
}

// listDatabaseFiles returns the database, what lies beside it while it is open, and the folder of the files that go on
// in its place.
func listDatabaseFiles(cfg *config.Config) (out []string) {
	out = append(out, store.Folder(cfg.Ledger.Path))
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		out = append(out, cfg.Ledger.Path+suffix)
	}
	return out
}

// listProgram returns the running program's own path, which no call may write.
func listProgram() []string {
	exe, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{exe}
}

// listSkillSources returns where the next start looks for skills: a file that appears there
// is a skill then. Of a pattern's matches the folders are held too, since one
// may be a link to elsewhere, or the match of a skill file's own include.
func listSkillSources(cfg *config.Config) []guard.Source {
	if len(cfg.Files) == 0 {
		return nil // not read from disk
	}
	var out []guard.Source
	named := map[string]bool{cfg.Files[0]: true, cfg.Sentinel.Prompt: true}
	for _, pattern := range cfg.SkillFiles.Include {
		s := splitInclude(filepath.Dir(cfg.Files[0]), pattern)
		if hasWildcard(s.Pattern) {
			out = append(out, s)
		} else {
			named[filepath.Join(s.Folder, s.Pattern)] = true // protected as a file
		}
	}
	for _, f := range cfg.Files {
		if named[f] {
			continue
		}
		s := guard.Source{Folder: filepath.Dir(f), Pattern: "*"}
		if ext := filepath.Ext(f); !hasWildcard(ext) {
			s.Pattern += ext
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// splitInclude splits an include of a file in dir. It returns the folder that the search
// starts in and the pattern below it.
func splitInclude(dir, include string) guard.Source {
	rest := filepath.ToSlash(filepath.Clean(filepath.FromSlash(include)))
	if filepath.IsAbs(filepath.FromSlash(rest)) {
		dir = filepath.VolumeName(filepath.FromSlash(rest)) + string(filepath.Separator)
		rest = strings.TrimLeft(rest[len(dir)-1:], "/")
	}
	for {
		first, below, more := strings.Cut(rest, "/")
		if !more || hasWildcard(first) {
			return guard.Source{Folder: dir, Pattern: rest}
		}
		dir, rest = filepath.Join(dir, first), below
	}
}

// hasWildcard reports whether a pattern stands for more than itself.
func hasWildcard(pattern string) bool { return strings.ContainsAny(pattern, `*?[{\`) }
