package touch

import (
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// tars are the programs with tar's command line.
var tars = set("tar bsdtar gtar star jar")

// tarJob is what a tar command line says.
type tarJob struct {
	mode    byte // c, r, u: from files; x: to files; t, d: look
	archive field
	members []tarMember
	dirs    []field
	lists   []field // files with names of members
}

// tarMember is a name and the folder that it is looked for in.
type tarMember struct{ name, dir field }

// tar reads what goes into an archive, or where one is unpacked. A member
// counts in the folder that -C changed to.
func (s *shell) tar(args []field) {
	j := readTar(args)
	switch j.mode {
	case 'x':
		s.path(j.archive, Read)
		for _, d := range j.dirs {
			s.path(d, Write)
		}
		for _, m := range j.members {
			s.inFolder(m.dir).path(m.name, Write)
		}
	case 'c', 'r', 'u', 'A':
		s.path(j.archive, Write)
		for _, m := range j.members {
			s.inFolder(m.dir).pathAs(m.name, Path{Access: Read, Recursive: true})
		}
		for _, d := range j.dirs {
			s.pathAs(d, Path{Access: Read, Names: true})
		}
	default:
		s.path(j.archive, Read)
	}
	for _, l := range j.lists {
		s.path(l, Read)
	}
	for _, a := range args {
		if strings.HasPrefix(a.text, "--") && !strings.HasPrefix(a.text, "--directory") && !strings.HasPrefix(a.text, "--file") && !strings.HasPrefix(a.text, "--exclude") {
			s.mentions([]field{a})
		}
	}
}

// inFolder is the shell as if it had changed to dir.
func (s *shell) inFolder(dir field) *shell {
	if dir.text == "" {
		return s
	}
	f := s.fork()
	f.cond = 0
	v := value{}
	for _, p := range s.resolve(dir.text) {
		v = append(v, frags{{s: p, kind: quotedFrag, home: dir.home || path.NamesHome(dir.text)}})
	}
	if dir.unknown {
		v = value{{{s: dir.text, kind: unknownFrag}}}
	}
	put(&f.own().vars, "PWD", v)
	return f
}

// The short options of tar that take a value.
const tarValues = "bCfFgHIKLNTVX"

var (
	tarModes = map[string]byte{
		"create": 'c', "extract": 'x', "get": 'x', "list": 't', "append": 'r', "update": 'u', "diff": 'd', "compare": 'd', "concatenate": 'A', "catenate": 'A', "delete": 'd',
	}
	// tarLong are the long options that take a value, and the short one that
	// they mean.
	tarLong = map[string]byte{
		"directory": 'C', "cd": 'C', "file": 'f', "files-from": 'T', "exclude-from": 'X', "exclude": 0, "use-compress-program": 'I', "transform": 0,
		"strip-components": 0, "owner": 0, "group": 0, "mode": 0, "mtime": 0, "newer": 'N', "listed-incremental": 'g', "rsh-command": 0, "to-command": 0, "checkpoint-action": 0,
	}
)

// tarReader goes through the words of a tar command line.
type tarReader struct {
	args []field
	at   int
	dir  field
	job  tarJob
}

func readTar(args []field) tarJob {
	r := &tarReader{args: args}
	for ; r.at < len(args); r.at++ {
		switch t := args[r.at].text; {
		case strings.HasPrefix(t, "--") && len(t) > 2:
			r.long(t[2:])
		case len(t) > 1 && t[0] == '-':
			r.cluster(t[1:], true)
		case r.at == 0:
			r.cluster(t, false)
		default:
			r.job.members = append(r.job.members, tarMember{args[r.at], r.dir})
		}
	}
	return r.job
}

func (r *tarReader) next() field {
	if r.at+1 >= len(r.args) {
		return field{}
	}
	r.at++
	return r.args[r.at]
}

func (r *tarReader) long(opt string) {
	name, val, joined := strings.Cut(opt, "=")
	short, valued := tarLong[name]
	switch m := tarModes[name]; {
	case m != 0:
		r.job.mode = m
	case joined:
		r.option(short, field{text: val, bare: val, unknown: r.args[r.at].unknown})
	case valued:
		r.option(short, r.next())
	}
}

// cluster reads "-xzf": a value is the rest of the word or the next one. In
// the old style, without the dash, all values are words that follow.
func (r *tarReader) cluster(letters string, dashed bool) {
	word := r.args[r.at]
	for i := 0; i < len(letters); i++ {
		c := letters[i]
		if strings.IndexByte("cxtruAd", c) >= 0 && r.job.mode == 0 {
			r.job.mode = c
		}
		if strings.IndexByte(tarValues, c) < 0 {
			continue
		}
		if rest := letters[i+1:]; dashed && rest != "" {
			r.option(c, field{text: rest, bare: rest, unknown: word.unknown})
			return
		}
		r.option(c, r.next())
	}
}

func (r *tarReader) option(c byte, v field) {
	switch c {
	case 'C':
		r.dir = v
		r.job.dirs = append(r.job.dirs, v)
	case 'f':
		r.job.archive = v
	case 'T', 'X':
		r.job.lists = append(r.job.lists, v)
	}
}
