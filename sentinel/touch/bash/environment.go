package bash

import (
	"slices"
	"strings"
)

// commandVars are the variables whose value some program runs.
var commandVars = toSet("GIT_SSH_COMMAND GIT_SSH GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_ASKPASS GIT_EXTERNAL_DIFF " +
	"GIT_PROXY_COMMAND GIT_CONFIG_PARAMETERS SSH_ASKPASS SUDO_ASKPASS SUDO_EDITOR EDITOR VISUAL FCEDIT PAGER MANPAGER BAT_PAGER " +
	"SYSTEMD_PAGER SYSTEMD_EDITOR PSQL_PAGER PSQL_EDITOR DELTA_PAGER AWS_PAGER GH_PAGER GH_EDITOR GH_BROWSER GLAB_EDITOR BROWSER " +
	"LESSOPEN LESSCLOSE LESS PROMPT_COMMAND RSYNC_RSH CVS_RSH SVN_SSH HGEDITOR SVN_EDITOR BORG_RSH BORG_PASSCOMMAND " +
	"RESTIC_PASSWORD_COMMAND FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS FZF_CTRL_T_COMMAND KUBE_EDITOR KUBECTL_EXTERNAL_DIFF RUSTC_WRAPPER " +
	"RUSTC SHELL CC CXX LD AR MAKE SHELL_COMMAND NPM_CONFIG_SCRIPT_SHELL npm_config_script_shell npm_config_git npm_config_editor " +
	"MANOPT GOFLAGS TAR_OPTIONS PS0 PS1 PS2 PS4 precmd")

// proxies are the variables that name the host that clients go to first.
var proxies = toSet("http_proxy https_proxy all_proxy ftp_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY AWS_EC2_METADATA_SERVICE_ENDPOINT " +
	"AWS_CONTAINER_CREDENTIALS_FULL_URI GCE_METADATA_HOST")

// startFiles are the variables that name a program to run first, and what
// runs it.
var startFiles = map[string]string{"BASH_ENV": "bash", "ENV": "sh", "PYTHONSTARTUP": "python", "RUBYOPT": "ruby", "PERL5OPT": "perl",
	"NODE_OPTIONS": "node", "JAVA_TOOL_OPTIONS": "java", "_JAVA_OPTIONS": "java"}

// bindVariable reads the value that a variable is given for the sake of the programs
// that run it.
func (s *shell) bindVariable(name string, v value) {
	if len(v) == 0 {
		return
	}
	lib := name == "LD_PRELOAD" || name == "LD_AUDIT" || name == "DYLD_INSERT_LIBRARIES"
	if cacheVars[name] && s.isCore(toField(v[0])) {
		s.addUnread(UnreadTarget)
	}
	if proxies[name] {
		s.findMetadata(literalField(v[0].text()))
	}
	if strings.HasPrefix(name, "BASH_FUNC_") || strings.HasPrefix(strings.TrimSpace(v[0].text()), "() {") {
		_, body, _ := strings.Cut(v[0].text(), "{") // a function, and what Shellshock ran behind it
		s.guessLine("{" + body)
		s.guessLine(strings.TrimSuffix(strings.TrimSpace(body), "}"))
		for part := range strings.SplitSeq(body, "}") {
			s.guessLine(strings.TrimLeft(part, "; "))
		}
	}
	if !lib && !commandVars[name] && !namesRunner(name) && startFiles[name] == "" && !strings.HasPrefix(name, "GIT_CONFIG_VALUE_") {
		return
	}
	for _, fr := range v[:min(len(v), 4)] {
		s.bindField(name, toField(fr), lib)
	}
}

func (s *shell) bindField(name string, f field, lib bool) {
	switch {
	case lib:
		s.loadLibraries(f)
		return
	case startFiles[name] != "":
		s.readStartFile(startFiles[name], f)
		return
	case strings.HasPrefix(name, "PS") && len(name) == 3:
		if !strings.Contains(f.text, "$(") && !strings.Contains(f.text, "`") {
			return // a prompt without a command in it
		}
		f = f.withText(`true "` + strings.NewReplacer(`"`, `\"`, `\$(`, "$(").Replace(f.text) + `"`)
	case optionVars[name]:
		_, cmd, _ := strings.Cut(f.text, "exec=")
		f = f.withText(cmd)
	}
	if !strings.Contains(f.text, " ") {
		s.loadPassed(f)
	}
	s.runHook(f)
}

// optionVars hold options, one of which names what is run.
var optionVars = toSet("TAR_OPTIONS GOFLAGS")

// loadPassed asks about a program in a folder for passing files: somebody put it
// there.
func (fv *fileView) loadPassed(f field) {
	for _, at := range fv.listPlaces(f.text) {
		if f.text != "" && slices.ContainsFunc(scratchFolders, func(dir string) bool { return strings.HasPrefix(at, dir) }) {
			fv.addOpaque("")
		}
	}
}

// cacheVars are the variables that name the folder that a program's "clean"
// removes.
var cacheVars = toSet("GOCACHE GOMODCACHE CARGO_TARGET_DIR npm_config_cache NPM_CONFIG_CACHE YARN_CACHE_FOLDER CCACHE_DIR PIP_CACHE_DIR")

// toField is a value as one field.
func toField(fr frags) field {
	f := field{text: fr.text(), bare: fr.text()}
	for _, p := range fr {
		if p.kind == unknownFrag {
			f.unknown, f.blank = true, len(fr) == 1
		}
		if p.proc != nil {
			f.proc = p.proc
		}
	}
	return f
}

// namesRunner reports whether a build tool runs what a variable of this name
// holds: CARGO_TARGET_…_RUNNER, RUSTC_WORKSPACE_WRAPPER.
func namesRunner(name string) bool {
	return strings.HasPrefix(name, "CARGO_") && (strings.HasSuffix(name, "_RUNNER") || strings.HasSuffix(name, "_LINKER")) ||
		strings.HasPrefix(name, "RUSTC_") && strings.HasSuffix(name, "_WRAPPER") ||
		name == "CMAKE_C_COMPILER_LAUNCHER" || name == "CMAKE_CXX_COMPILER_LAUNCHER"
}

func (s *shell) readStartFile(by string, f field) {
	switch {
	case (by == "bash" || by == "sh") && (strings.Contains(f.text, "$(") || strings.Contains(f.text, "`")):
		s.guessLine(`true "` + f.text + `"`) // its name is expanded first
	case f.proc != nil, strings.Contains(f.text, "/") && !strings.ContainsAny(f.text, " ="):
		s.runScript(by, f, stream{}, nil)
	case by != "bash" && by != "sh" && strings.ContainsAny(f.text, "-("):
		s.mentionWords(literalFields(strings.Fields(f.text)))
		s.readCode(f, "")
	}
}

// loadLibraries reads the libraries that every program is to load first: one that
// was just put somewhere is a program that nothing is known of.
func (fv *fileView) loadLibraries(f field) {
	if f.blank {
		fv.addOpaque("")
		return
	}
	for _, p := range strings.FieldsFunc(f.text, func(r rune) bool { return r == ':' || r == ' ' }) {
		fv.addAccess(f.withText(p), Read|Execute)
		fv.loadPassed(f.withText(p))
	}
}
