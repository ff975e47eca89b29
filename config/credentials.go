package config

import (
	"path/filepath"
	"strings"
)

// userPlace stands for the user in the pattern of a credential.
const userPlace = "{user}"

// Credential says where what a user's calls authenticate with is found: in one of
// three places. It holds no secret itself.
type Credential struct {
	// Env is the name of a variable with {user} in it.
	Env string `yaml:"env" json:",omitempty"`
	// File is the absolute path of a file per user, with {user} in its last part.
	File string `yaml:"file" json:",omitempty"`
	// Program asks the resolver that the program gave.
	Program bool `yaml:"program" json:",omitempty"`
}

// checkCredentials refuses a credential with no place or more than one, and one
// that all users would share.
func (l *loader) checkCredentials() {
	all := l.get("credentials")
	if all == nil || all.kind != mappingNode {
		return
	}
	for i := range all.entries {
		e := &all.entries[i]
		c, known := l.cfg.Credentials[e.key]
		if !known || e.val.kind != mappingNode {
			continue
		}
		// A path counts once it is checked: what follows from a refused one is no
		// mistake of its own.
		l.cfg.Credentials[e.key] = Credential{Env: c.Env, Program: c.Program}
		given := 0
		for _, set := range []bool{c.Env != "", c.File != "", c.Program} {
			if set {
				given++
			}
		}
		if given != 1 {
			l.out.add(e.pos, "credentials.%s must have exactly one of env, file and program: true; it has %d", e.key, given)
			continue
		}
		switch {
		case c.Env != "":
			l.checkCredentialEnv(e.key, c, e.val.get("env"))
		case c.File != "":
			l.checkCredentialFile(e.key, c, e.val.get("file"))
		}
	}
}

func (l *loader) checkCredentialEnv(name string, c Credential, n *node) {
	if n == nil || n.bad {
		return
	}
	if strings.Count(c.Env, userPlace) != 1 || !envName(strings.Replace(c.Env, userPlace, "x", 1)) {
		l.out.add(n.pos, "credentials.%s.env must be a variable's name with one %s in it, such as GITHUB_TOKEN_%s%s",
			name, userPlace, userPlace, notA(n))
	}
}

func (l *loader) checkCredentialFile(name string, c Credential, n *node) {
	if n == nil || n.bad {
		return
	}
	if strings.Count(c.File, userPlace) != 1 || !strings.Contains(filepath.Base(c.File), userPlace) {
		l.out.add(n.pos, "credentials.%s.file must have one %s in the last part of its path, such as ./credentials/%s/%s%s",
			name, userPlace, name, userPlace, notA(n))
		return
	}
	c.File = l.abs(c.File, n)
	l.cfg.Credentials[name] = c
	dir := realPath(filepath.Dir(c.File))
	for i, root := range l.cfg.Guard.Roots {
		if at := l.itemOf("roots", i); root != "" && at != nil && inside(dir, realPath(root)) {
			l.out.add(at.pos, "guard.roots[%d] lies in the folder of the credentials %s; give agents a folder of their own", i, name)
		}
	}
}

// CredentialFolders are the folders of credentials in files: no call may name
// them.
func (c *Config) CredentialFolders() []string {
	var out []string
	for _, cred := range c.Credentials {
		if cred.File != "" {
			out = append(out, filepath.Dir(cred.File))
		}
	}
	return out
}
