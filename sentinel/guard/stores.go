package guard

// stores are where programs keep what lets them in, wherever a home folder or
// a backup of one may be.
var stores = concat(
	places(PlaceToken,
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
	places(PlaceStored,
		".my.cnf", ".mylogin.cnf", ".config/keepassxc", ".config/bitwarden", ".config/bitwarden cli",
		".config/1password", ".local/share/kwalletd", ".kde/share/apps/kwallet",
		".lastpass", ".local/share/pass", ".config/evolution", ".smbcredentials", ".htpasswd", ".config/remmina",
		".local/share/remmina", ".config/filezilla", ".filezilla", ".ngrok",
		"appdata/roaming/microsoft/credentials", "appdata/local/microsoft/credentials", "appdata/roaming/microsoft/protect",
		"appdata/local/microsoft/vault", "library/application support/1password"),
	places(PlaceBrowser,
		".mozilla/firefox", ".config/google-chrome", ".config/google-chrome-beta", ".config/chromium",
		".config/bravesoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera",
		".thunderbird", "snap/firefox/common/.mozilla", "snap/chromium/common/chromium", "library/application support/google/chrome",
		"library/application support/firefox",
		"library/application support/bravesoftware", "library/application support/microsoft edge", "library/safari",
		"library/cookies", "appdata/local/google/chrome/user data",
		"appdata/local/microsoft/edge/user data", "appdata/local/bravesoftware", "appdata/roaming/mozilla",
		"appdata/roaming/opera software", "login data", "key4.db", "cookies.sqlite"),
	places(PlaceWallet,
		".bitcoin/wallet…", "wallet.dat", ".ethereum/keystore", ".config/solana/id.json", ".electrum/wallets",
		".config/monero…", ".gnucash…/secrets", ".exodus", ".config/exodus", ".near-credentials"),
	tops(PlaceSecrets,
		"etc/ssl/private", "etc/pki/tls/private", "etc/letsencrypt/archive", "etc/letsencrypt/live",
		"etc/letsencrypt/accounts", "etc/krb5.keytab", "etc/ipsec.secrets", "etc/ppp/chap-secrets", "etc/ppp/pap-secrets",
		"etc/wireguard", "etc/openvpn", "etc/kubernetes", "etc/rancher", "var/run/secrets", "run/secrets",
		"var/lib/kubelet", "var/lib/rancher", "etc/networkmanager/system-connections",
		"etc/wpa_supplicant", "etc/mysql/debian.cnf", "etc/docker/key.json", "etc/vault.d", "etc/machine-key",
		"var/lib/private", "run/credentials", "etc/samba/private", "var/lib/samba/private", "etc/shadow-",
		"var/db/dslocal", "etc/postfix/sasl_passwd…", "var/lib/jenkins/secrets", "var/lib/tailscale", "tmp/krb5cc…"),
	tops(PlaceStartup, "etc/ld.so.preload"),
)

func places(signal string, list ...string) []place {
	out := make([]place, len(list))
	for i, p := range list {
		out[i] = place{signal: signal, at: components(p)}
	}
	return out
}

func tops(signal string, list ...string) []place {
	out := places(signal, list...)
	for i := range out {
		out[i].top = true
	}
	return out
}

func concat(lists ...[]place) []place {
	var out []place
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}
