package guard

import (
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/vedette-dev/vedette/sentinel/touch"
)

// The closed list of places in the core: they stand as signals in evidence.
const (
	PlaceSSH        = "ssh_folder"       // .ssh, anywhere
	PlaceAccounts   = "account_files"    // /etc/passwd, shadow, gshadow, sudoers, sudoers.d and copies beside them
	PlaceSSHD       = "ssh_server"       // /etc/ssh
	PlaceRootHome   = "root_home"        // /root, /var/root
	PlaceBoot       = "boot"             // /boot
	PlaceSys        = "sys"              // /sys
	PlaceProc       = "proc"             // /proc and /proc/<pid>
	PlaceDevice     = "block_device"     // disks, partitions, memory
	PlaceCloud      = "cloud_credential" // .aws/credentials, .kube/config, gcloud, azure
	PlaceEnv        = "credentials_env"  // .config/*/credentials.env
	PlaceGnuPG      = "gnupg_folder"     // .gnupg, anywhere
	PlaceKey        = "private_key"      // id_rsa and its kin, without .pub
	PlaceStored     = "stored_password"  // .netrc, .pgpass, .git-credentials, keyrings
	PlaceConfigured = "configured"       // guard.forbid_paths
	PlaceBrowser    = "browser_profile"  // cookies and passwords of browsers and mail clients
	PlaceToken      = "service_token"    // what registries, forges and clouds let in with
	PlaceWallet     = "wallet"           // keys to money
	PlaceSecrets    = "machine_secret"   // keys and tokens of this machine's services
	PlaceStartup    = "startup_file"     // what every shell runs first; writing it
)

// place is a spot in the file tree: components one after the other. A
// component that ends in "…" is matched by its beginning.
type place struct {
	signal string
	at     []string
	top    bool // counts at the top of the tree only
	exact  bool // what lies below it is free
}

var core = []place{
	{signal: PlaceSSH, at: []string{".ssh"}},
	{signal: PlaceAccounts, at: []string{"etc", "passwd…"}, top: true},
	{signal: PlaceAccounts, at: []string{"etc", "shadow…"}, top: true},
	{signal: PlaceAccounts, at: []string{"etc", "gshadow…"}, top: true},
	{signal: PlaceAccounts, at: []string{"etc", "sudoers…"}, top: true},
	{signal: PlaceAccounts, at: []string{"etc", "master.passwd…"}, top: true},
	{signal: PlaceAccounts, at: []string{"etc", "security", "opasswd…"}, top: true},
	{signal: PlaceSSHD, at: []string{"etc", "ssh"}, top: true},
	{signal: PlaceRootHome, at: []string{"root"}, top: true},
	{signal: PlaceRootHome, at: []string{"var", "root"}, top: true},
	{signal: PlaceBoot, at: []string{"boot"}, top: true},
	{signal: PlaceSys, at: []string{"sys"}, top: true},
	{signal: PlaceProc, at: []string{"proc"}, top: true, exact: true},
	{signal: PlaceProc, at: []string{"proc", "self"}, top: true},
	{signal: PlaceProc, at: []string{"proc", "thread-self"}, top: true},
	{signal: PlaceProc, at: []string{"proc", "kcore"}, top: true},
	{signal: PlaceProc, at: []string{"proc", "sysrq-trigger"}, top: true},
	{signal: PlaceCloud, at: []string{".aws", "credentials…"}},
	{signal: PlaceCloud, at: []string{".kube", "config"}},
	{signal: PlaceCloud, at: []string{".config", "gcloud", "credentials.db"}},
	{signal: PlaceCloud, at: []string{".config", "gcloud", "application_default_credentials.json"}},
	{signal: PlaceCloud, at: []string{".config", "gcloud", "legacy_credentials"}},
	{signal: PlaceCloud, at: []string{".azure", "accesstokens.json"}},
	{signal: PlaceEnv, at: []string{".config", "*", "credentials.env…"}},
	{signal: PlaceGnuPG, at: []string{".gnupg"}},
	{signal: PlaceKey, at: []string{"id_rsa"}}, {signal: PlaceKey, at: []string{"id_dsa"}},
	{signal: PlaceKey, at: []string{"id_ecdsa"}}, {signal: PlaceKey, at: []string{"id_ed25519"}},
	{signal: PlaceKey, at: []string{"id_ecdsa_sk"}}, {signal: PlaceKey, at: []string{"id_ed25519_sk"}},
	{signal: PlaceStored, at: []string{".netrc"}}, {signal: PlaceStored, at: []string{"_netrc"}},
	{signal: PlaceStored, at: []string{".pgpass"}}, {signal: PlaceStored, at: []string{".git-credentials"}},
	{signal: PlaceStored, at: []string{".password-store"}}, {signal: PlaceStored, at: []string{".local", "share", "keyrings"}},
	{signal: PlaceStored, at: []string{"library", "keychains"}},
	{signal: PlaceStored, at: []string{"windows", "system32", "config", "sam…"}},
	{signal: PlaceStored, at: []string{"windows", "repair", "sam…"}},
	{signal: PlaceStored, at: []string{"windows", "system32", "config", "security"}}, {signal: PlaceStored, at: []string{"windows", "ntds"}},
}

// forbidden returns the place of the core that n, a name of p, lies in. own says
// that the path was spelt as one in the home folder of the user who runs the call.
// Such a path is the user's own even where the user is root.
func forbidden(n string, p touch.Path, own bool) string {
	parts := components(n)
	if p.Shell && slices.Contains(parts, "**") {
		if s := somewhere(parts, p); s != "" || p.Names {
			return s
		}
	}
	without := ""
	if own {
		without = PlaceRootHome
	}
	if signal := coreIndex.holds(parts, without); signal != "" {
		return signal
	}
	if signal := storesIndex.holds(parts, ""); signal != "" {
		return signal
	}
	if last := len(parts) - 1; last >= 0 && (strings.HasSuffix(parts[last], ".kdbx") || strings.HasSuffix(parts[last], ".kdb")) {
		return PlaceStored
	}
	if len(parts) > 1 && parts[0] == "proc" &&
		(parts[1][0] >= '0' && parts[1][0] <= '9' || len(parts) > 2 && strings.ContainsAny(parts[1], "*?[")) {
		return PlaceProc
	}
	// A command that only names a disk (lsblk, df, mkfs -n) does not touch it.
	if blockDevice(parts) && !(p.Shell && p.Access == touch.Mention) {
		return PlaceDevice
	}
	return ""
}

func inCore(clean string) bool { return forbidden(clean, touch.Path{}, false) != "" }

// components splits a cleaned path, letter case folded. /private is where
// macOS keeps /etc and /var.
func components(n string) []string {
	n = strings.ToLower(n)
	if len(n) > 1 && n[1] == ':' {
		n = n[2:]
	}
	parts := make([]string, 0, 8)
	for c := range strings.SplitSeq(n, "/") {
		if c != "" {
			parts = append(parts, c)
		}
	}
	if len(parts) > 1 && parts[0] == "private" && (parts[1] == "etc" || parts[1] == "var") {
		parts = parts[1:]
	}
	return parts
}

func (pl *place) holds(parts []string) bool {
	last := len(parts) - len(pl.at)
	if pl.top {
		last = min(last, 0)
	}
	for i := 0; i <= last; i++ {
		if pl.exact && i+len(pl.at) != len(parts) {
			continue
		}
		if pl.starts(parts[i:]) {
			return true
		}
	}
	return false
}

func (pl *place) starts(parts []string) bool {
	named := false
	for i, want := range pl.at {
		ok, literal := component(parts[i], want)
		if !ok || !pl.top && len(pl.at) == 1 && vague(parts[i], want) {
			return false
		}
		if i == len(pl.at)-1 {
			named = literal
		}
	}
	return named
}

// vague reports whether a pattern spells too little of a name to mean it: in any
// folder, "k*" stands for many files before it stands for key4.db. Names that
// begin with a dot are seldom anything else.
func vague(got, want string) bool {
	if strings.HasPrefix(want, ".") || strings.HasPrefix(want, "id_") || !strings.ContainsAny(got, "*?[{") {
		return false
	}
	spelt := 0
	for _, r := range got {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '?' {
			spelt++
		}
	}
	return 4*spelt < 3*len(want)
}

var alternatives = regexp.MustCompile(`\{[^{}]*\}`)

// component reports whether got is the component want, and whether got names
// it rather than matching everything. got may be a pattern.
func component(got, want string) (ok, literal bool) {
	if want == "*" {
		return true, true
	}
	stem, prefix := strings.CutSuffix(want, "…")
	if !patterned(got) {
		return got == stem || prefix && strings.HasPrefix(got, stem), true
	}
	if len(got) > 256 {
		return false, false
	}
	// "*" in the place of a folder may stand for any; ".*" says no more.
	rest := strings.TrimLeft(got, ".")
	literal = strings.IndexFunc(rest, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '?' }) >= 0
	if strings.Count(got, "{") > 2 {
		// Alternatives multiply: beyond a few, any of them counts.
		got = strings.NewReplacer("{", "", "}", "").Replace(alternatives.ReplaceAllString(got, "*"))
	}
	ok, err := doublestar.Match(got, stem)
	if err != nil || got == "" || strings.HasPrefix(stem, ".") && got[0] != '.' && got[0] != '[' && got[0] != '{' {
		return false, false
	}
	return ok, literal
}

// disks are the beginnings of block devices' names, each with a name that a
// pattern is tried on.
var disks = []struct{ stem, sample string }{
	{"sd", "sda"}, {"nvme", "nvme0n1"}, {"mmcblk", "mmcblk0"}, {"loop", "loop0"}, {"hd", "hda"}, {"vd", "vda"},
	{"xvd", "xvda"}, {"dm-", "dm-0"}, {"md", "md0"}, {"nbd", "nbd0"}, {"rdisk", "rdisk0"}, {"disk", "disk0"},
	{"sr", "sr0"}, {"zram", "zram0"}, {"mapper", "mapper"}, {"mem", "mem"}, {"kmem", "kmem"}, {"port", "port"},
}

func blockDevice(parts []string) bool {
	if slices.ContainsFunc(parts, func(c string) bool { return strings.HasPrefix(c, "physicaldrive") }) {
		return true
	}
	if len(parts) < 2 || parts[0] != "dev" {
		return false
	}
	for _, d := range disks {
		if strings.HasPrefix(parts[1], d.stem) {
			return true
		}
		if ok, literal := component(parts[1], d.sample); ok && literal {
			return true
		}
	}
	return false
}
