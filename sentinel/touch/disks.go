package touch

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// wiper says when a program that is pointed at a device destroys what is on
// it. words are operands or options of which one must be given, all of them if
// empty; an option that takes its value after "=" counts by its name.
type wiper struct {
	words  string
	unless string // with one of these it only looks
	out    string // option whose value is what is written, or a prefix such as "of="
	last   bool   // only its last operand is written
	nth    int    // only this operand is written, counted from 1
	any    bool   // a device need not be named as a file
	doubt  bool   // the tool keeps what is there, or asks
	code   string // DeviceWrite where empty
}

var wipers = map[string]wiper{
	"mkswap": {}, "blkdiscard": {}, "pvcreate": {unless: "-t --test"}, "tee": {}, "sponge": {}, "truncate": {}, "fallocate": {}, "scrub": {unless: "-S --no-signature"}, "nwipe": {unless: "--nowipe"},
	"flash_erase": {}, "flash_eraseall": {}, "flashcp": {last: true}, "nandwrite": {}, "ubiformat": {}, "shred": {}, "wipe": {}, "srm": {}, "bmaptool": {words: "copy", last: true}, "rpi-imager": {last: true},
	"dcfldd": {out: "of="}, "dc3dd": {out: "of= wipe= hof="}, "sdd": {out: "of="}, "sg_dd": {out: "of="}, "sgp_dd": {out: "of="}, "sgm_dd": {out: "of="}, "gdd": {out: "of="}, "xfs_copy": {last: true},
	"ddrescue": {nth: 2}, "dd_rescue": {nth: 2}, "myrescue": {nth: 2}, "qemu-img": {words: "dd convert create rebase resize commit", last: true, out: "of="},
	"pv": {out: "-o --output", last: false, words: "-o --output"}, "mkisofs": {out: "-o -output"}, "genisoimage": {out: "-o -output"}, "xorrisofs": {out: "-o -output"}, "mksquashfs": {nth: 2},
	"wipefs": {words: "-a --all -f --force -o --offset", unless: "-n --no-act"}, "sgdisk": {words: "-Z --zap-all -z --zap -o --clear -d --delete -G --randomize-guids -l --load-backup -n --new"},
	"sfdisk":    {unless: "-l --list -d --dump -J --json --verify -V -n --no-act -F --list-free -s --show-size -g --show-geometry -T --list-types --part-uuid --part-label --part-type"},
	"hdparm":    {words: "--security-erase --security-erase-enhanced --trim-sector-ranges --trim-sector-ranges-stdin --write-sector --make-bad-sector --repair-sector --dco-restore --sanitize-block-erase --sanitize-crypto-scramble --sanitize-overwrite"},
	"badblocks": {words: "-w"}, "nvme": {words: "format sanitize write-zeroes write write-uncor dsm delete-ns"}, "mdadm": {words: "-C --create --zero-superblock"},
	"sg_format": {}, "sg_sanitize": {}, "sg_unmap": {}, "sg_write_same": {}, "sg_write_buffer": {}, "flashrom": {words: "-E --erase", any: true}, "mtd": {words: "erase", any: true}, "mtd_debug": {words: "erase write"},
	"parted": {words: "mklabel mktable rm mkpart mkpartfs resizepart resize", unless: "-l --list"}, "debugfs": {words: "-w"}, "asr": {words: "--erase -erase"},
	"partclone.restore": {out: "-o -O"}, "partclone.ext4": {out: "-o -O", words: "-r --restore"}, "partclone.xfs": {out: "-o -O", words: "-r --restore"}, "partclone.btrfs": {out: "-o -O", words: "-r --restore"}, "partclone.ntfs": {out: "-o -O", words: "-r --restore"},
	"ntfsclone": {out: "-O --overwrite"}, "bcache": {words: "make"}, "dmsetup": {words: "wipe_table", any: true},
	"diskutil": {any: true, words: "eraseDisk eraseVolume secureErase zeroDisk randomDisk partitionDisk reformat deleteContainer deleteVolume eraseOptical mergePartitions splitPartition"},
	"cp":       {last: true}, "install": {last: true}, "scp": {last: true}, "ln": {last: true, unless: "-s --symbolic"}, "make-bcache": {},
	"zpool":      {words: "create", unless: "-n --dry-run", code: VolumeDestroy},
	"cryptsetup": {words: "luksFormat luksErase erase reencrypt luksKillSlot", any: true, code: VolumeDestroy}, "btrfs": {words: "delete remove", doubt: true},
}

// disk looks at the tools that write file systems, tables and whole devices.
func (s *shell) disk(name string, args []field) {
	if (name == "mkswap" || name == "wipefs" || name == "blkdiscard" || name == "sgdisk") && slices.ContainsFunc(operands(args, "Ltop"), func(f field) bool { return f.blank }) {
		s.doubt(UnknownTarget)
	}
	writes := s.about(name)&inDisks != 0
	if writes && formats(name) {
		s.mkfs(name, args)
		return
	}
	switch name {
	case "socat":
		s.socats(args)
	case "btrfs":
		s.subvolume(args)
	}
	if !writes {
		return
	}
	w, ok := wipers[name]
	if !ok || !given(args, w.words) || w.unless != "" && given(args, w.unless) {
		return
	}
	if !w.any && !slices.ContainsFunc(s.written(w, args), s.onDevice) {
		return
	}
	ops := operands(args, "")
	switch {
	case name == "cryptsetup" && len(ops) < 2, name == "debugfs" && !given(args, "-R -f"):
	case w.doubt:
		s.doubt(VolumeRemoval)
	case w.code != "":
		s.danger(w.code)
	default:
		s.danger(DeviceWrite)
	}
}

// given reports whether one of words is among the arguments; always where
// there are none to look for.
func given(args []field, words string) bool {
	if words == "" {
		return true
	}
	for _, a := range args {
		name := a.text
		if strings.HasPrefix(name, "-") {
			name, _, _ = strings.Cut(name, "=")
		}
		for w := range strings.FieldsSeq(words) {
			cluster := len(w) == 2 && w[0] == '-' && len(name) > 2 && name[0] == '-' && name[1] != '-' && strings.IndexByte(name, w[1]) > 0
			long := strings.HasPrefix(w, "--") && len(name) > 4 && strings.HasPrefix(w, name)
			if name == w || cluster || long || strings.EqualFold(name, w) && w[0] != '-' {
				return true
			}
		}
	}
	return false
}

// written returns what a program writes to among its arguments.
func (s *shell) written(w wiper, args []field) []field {
	var out []field
	for i, a := range args {
		for o := range strings.FieldsSeq(w.out) {
			rest, ok := strings.CutPrefix(a.text, o)
			switch {
			case !ok:
			case rest != "":
				a.text, a.bare = strings.TrimPrefix(rest, "="), strings.TrimPrefix(strings.TrimPrefix(a.bare, o), "=")
				out = append(out, a)
			case i+1 < len(args):
				out = append(out, args[i+1])
			}
		}
	}
	if w.out != "" && !w.last {
		return out
	}
	switch {
	case w.last:
		if _, to := sources(args, "tSmgo"); to.text != "" {
			out = append(out, to)
		}
	case w.nth > 0:
		if ops := operands(args, "bcimslSnro"); len(ops) >= w.nth {
			out = append(out, ops[w.nth-1])
		}
	default:
		out = args
	}
	return out
}

// onDevice reports whether f is a device that holds data.
func (s *shell) onDevice(f field) bool {
	if !strings.Contains(f.text, "dev") && !strings.ContainsAny(f.text, "*?[~") && !strings.Contains(f.text, "Drive") && !s.inDev() && len(s.made.links) == 0 {
		return false // it can't resolve to one: most arguments
	}
	return slices.ContainsFunc(s.resolve(f.text), path.IsDevice)
}

func (s *shell) inDev() bool {
	return slices.ContainsFunc(s.def.vars["PWD"], func(f frags) bool { return strings.Contains(f.text(), "dev") })
}

func (s *shell) dd(args []field) {
	for _, a := range args {
		out, ok := strings.CutPrefix(a.text, "of=")
		switch {
		case !ok:
		case unsure(field{text: out, bare: strings.TrimPrefix(a.bare, "of="), unknown: a.unknown}):
			s.doubt(UnknownTarget)
		case s.onDevice(field{text: out}):
			s.danger(DeviceWrite)
		case out == "/": // of find's {}: each file below
			s.removeOne(field{text: out, bare: out, tree: true}, true)
		}
	}
}

// socats looks at the addresses that socat writes to.
func (s *shell) socats(args []field) {
	for i, a := range args {
		kind, rest, ok := strings.Cut(a.text, ":")
		if !ok || i == 0 || !slices.Contains([]string{"FILE", "OPEN", "CREATE", "CREAT", "GOPEN"}, strings.ToUpper(kind)) {
			continue
		}
		file, _, _ := strings.Cut(rest, ",")
		if i == len(args)-1 && s.onDevice(field{text: file}) {
			s.danger(DeviceWrite)
		}
	}
}

// subvolume looks at the trees that btrfs removes.
func (s *shell) subvolume(args []field) {
	ops := operands(args, "")
	if len(ops) < 3 || !strings.HasPrefix("subvolume", ops[0].text) || ops[1].text != "delete" { //nolint:gocritic // its words may be cut short
		return
	}
	for _, f := range ops[2:] {
		s.removeOne(f, true)
	}
}

// mkfs makes a file system over what is there. In a file that is named as one
// that is how disk images are made.
func (s *shell) mkfs(name string, args []field) {
	ops := operands(args, "EbLtUimNOTGgIJMrSsl")
	ext := name == "mke2fs" || strings.HasPrefix(name, "mkfs.ext")
	dry := ext && flag(args, "nV") || strings.HasSuffix(name, "xfs") && flag(args, "N") || len(args) == 1 && args[0].text == "-V"
	if len(ops) == 0 || dry || slices.ContainsFunc(ops, s.isFile) && !slices.ContainsFunc(ops, s.maybeDevice) {
		return
	}
	s.danger(MakeFS)
}

// isFile reports whether an operand is spelt like a file of one's own.
func (s *shell) isFile(f field) bool {
	return !f.unknown && !f.glob && strings.ContainsAny(f.text, "./") && !s.maybeDevice(f)
}

func (s *shell) maybeDevice(f field) bool {
	if f.unknown || f.glob || strings.ContainsAny(f.text, "=:") {
		return true
	}
	return slices.ContainsFunc(s.resolve(f.text), func(p string) bool {
		r := s.c.links.Follow(p)
		for _, dir := range []string{"/dev", "/proc", "/sys"} {
			if p == dir || r == dir || strings.HasPrefix(p, dir+"/") || strings.HasPrefix(r, dir+"/") {
				return true
			}
		}
		k, _ := path.FindTree(p, s.c.env)
		return k != path.NoTree
	})
}

func formats(name string) bool {
	return name == "mkfs" || strings.HasPrefix(name, "mkfs.") || strings.HasPrefix(name, "newfs_") ||
		slices.Contains([]string{"mke2fs", "mkdosfs", "mkntfs", "newfs", "mkudffs", "mkreiserfs", "mkexfatfs", "mkfatfs", "mkntfs", "mkbtrfs", "mkxfs", "mkjfs", "mkzfs", "bcachefs-format", "format.com"}, name)
}
