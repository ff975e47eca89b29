package guard

import (
	"slices"
	"strings"

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

// stores are where programs keep what lets them in, wherever a home folder or
// a backup of one may be.
var stores = joinPlaces(
	placesAnywhere(PlaceToken,
		".docker/config.json", ".dockercfg", ".config/gh/hosts.yml", ".config/hub", ".config/glab-cli/config.yml",
		".pypirc", ".cargo/credentials…",
		".gem/credentials", ".m2/settings-security.xml", ".vault-token", ".terraform.d/credentials.tfrc.json",
		".azure/msal_token_cache…", ".azure/service_principal_entries…",
		".aws/sso/cache", ".aws/cli/cache", ".config/gcloud/access_tokens.db", ".boto", ".s3cfg",
		".config/rclone/rclone.conf", ".rclone.conf", ".databrickscfg",
		".config/doctl/config.yaml", ".config/configstore", ".fly/config.yml", ".config/heroku", ".subversion/auth",
		".config/containers/auth.json", ".oci/oci_api_key…",
		".config/hcloud/cli.toml", ".config/scw/config.yaml", ".pulumi/credentials.json", ".config/ngrok",
		".ngrok2", ".config/github-copilot", ".huggingface/token", ".cache/huggingface/token",
		".kaggle/kaggle.json", ".composer/auth.json", ".snowflake/connections.toml", ".config/op", ".circleci/cli.yml", ".config/sops/age",
		".config/age", ".claude/.credentials.json", ".codex/auth.json", ".kube/cache/oidc-login", ".config/openai", ".bluemix/config.json"),
	placesAnywhere(PlaceStored,
		".my.cnf", ".mylogin.cnf", ".config/keepassxc", ".config/bitwarden", ".config/bitwarden cli",
		".config/1password", ".local/share/kwalletd", ".kde/share/apps/kwallet",
		".lastpass", ".local/share/pass", ".config/evolution", ".smbcredentials", ".htpasswd", ".config/remmina",
		".local/share/remmina", ".config/filezilla", ".filezilla", ".ngrok",
		"appdata/roaming/microsoft/credentials", "appdata/local/microsoft/credentials", "appdata/roaming/microsoft/protect",
		"appdata/local/microsoft/vault", "library/application support/1password"),
	placesAnywhere(PlaceBrowser,
		".mozilla/firefox", ".config/google-chrome", ".config/google-chrome-beta", ".config/chromium",
		".config/bravesoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera",
		".thunderbird", "snap/firefox/common/.mozilla", "snap/chromium/common/chromium", "library/application support/google/chrome",
		"library/application support/firefox",
		"library/application support/bravesoftware", "library/application support/microsoft edge", "library/safari",
		"library/cookies", "appdata/local/google/chrome/user data",
		"appdata/local/microsoft/edge/user data", "appdata/local/bravesoftware", "appdata/roaming/mozilla",
		"appdata/roaming/opera software", "login data", "key4.db", "cookies.sqlite"),
	placesAnywhere(PlaceWallet,
		".bitcoin/wallet…", "wallet.dat", ".ethereum/keystore", ".config/solana/id.json", ".electrum/wallets",
		".config/monero…", ".gnucash…/secrets", ".exodus", ".config/exodus", ".near-credentials"),
	placesAtTop(PlaceSecrets,
		"etc/ssl/private", "etc/pki/tls/private", "etc/letsencrypt/archive", "etc/letsencrypt/live",
		"etc/letsencrypt/accounts", "etc/krb5.keytab", "etc/ipsec.secrets", "etc/ppp/chap-secrets", "etc/ppp/pap-secrets",
		"etc/wireguard", "etc/openvpn", "etc/kubernetes", "etc/rancher", "var/run/secrets", "run/secrets",
		"var/lib/kubelet", "var/lib/rancher", "etc/networkmanager/system-connections",
		"etc/wpa_supplicant", "etc/mysql/debian.cnf", "etc/docker/key.json", "etc/vault.d", "etc/machine-key",
		"var/lib/private", "run/credentials", "etc/samba/private", "var/lib/samba/private", "etc/shadow-",
		"var/db/dslocal", "etc/postfix/sasl_passwd…", "var/lib/jenkins/secrets", "var/lib/tailscale", "tmp/krb5cc…"),
	placesAtTop(PlaceStartup, "etc/ld.so.preload"),
)

// findForbidden returns the place of the core that the parts of a name of p lie in. own says
// that the path was spelt as one in the home folder of the user who runs the call.
// Such a path is the user's own even where the user is root.
func findForbidden(parts []string, p touch.Path, own bool) string {
	if p.Shell && slices.Contains(parts, "**") {
		if s := findBySearch(parts, p); s != "" || p.Names {
			return s
		}
	}
	without := ""
	if own {
		without = PlaceRootHome
	}
	if signal := coreIndex.findSignal(parts, without); signal != "" {
		return signal
	}
	if signal := storesIndex.findSignal(parts, ""); signal != "" {
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
	if isBlockDevice(parts) && !(p.Shell && p.Access == touch.Mention) {
		return PlaceDevice
	}
	return ""
}

func isInCore(clean string) bool { return findForbidden(splitPath(clean), touch.Path{}, false) != "" }

// findBySearch is findForbidden for a path in which "**" stands for any folders, as
// a search for a name has it. Names that are only listed tell where a key is;
// the account files are no secret by their name.
func findBySearch(parts []string, p touch.Path) string {
	at := slices.Index(parts, "**")
	base, tail := parts[:at], parts[at+1:]
	if len(tail) == 0 {
		return ""
	}
	for _, list := range [][]place{core, stores} {
		for i := range list {
			pl := &list[i]
			if !pl.top && (pl.isNamedIn(tail) || pl.isNamedIn(slices.Concat(base, tail)) || !p.Names && pl.isKnownByName(tail)) ||
				pl.top && !p.Names && pl.isReachedFrom(base, tail) {
				return pl.signal
			}
		}
	}
	return ""
}

// disks are the beginnings of block devices' names, each with a name that a
// pattern is tried on.
var disks = []struct{ stem, sample string }{
	{"sd", "sda"}, {"nvme", "nvme0n1"}, {"mmcblk", "mmcblk0"}, {"loop", "loop0"}, {"hd", "hda"}, {"vd", "vda"},
	{"xvd", "xvda"}, {"dm-", "dm-0"}, {"md", "md0"}, {"nbd", "nbd0"}, {"rdisk", "rdisk0"}, {"disk", "disk0"},
	{"sr", "sr0"}, {"zram", "zram0"}, {"mapper", "mapper"}, {"mem", "mem"}, {"kmem", "kmem"}, {"port", "port"},
}

func isBlockDevice(parts []string) bool {
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
		if ok, literal := matchComponent(parts[1], d.sample); ok && literal {
			return true
		}
	}
	return false
}
