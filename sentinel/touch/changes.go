package touch

import (
	"regexp"
	"slices"
	"strings"
)

// The closed list of codes in Touch.Changes.
const (
	RemoteChange     = "remote_change"     // something on another machine or service
	RemoteRemoval    = "remote_removal"    // the same, taken away
	SystemChange     = "system_change"     // packages, services, accounts, mounts, the kernel
	SystemRemoval    = "system_removal"    // a package or an account is removed
	ProcessChange    = "process_change"    // a process is signalled
	ContainerChange  = "container_change"  // containers, images, networks of this machine
	ContainerRemoval = "container_removal" // the same, removed
	HistoryChange    = "history_change"    // a repository's history, index or working tree
	HistoryRemoval   = "history_removal"   // files or commits of it are dropped
	DatabaseChange   = "database_change"   // rows, tables or keys of a database
)

// ChangeCodes returns the codes that Touch.Changes may hold.
func ChangeCodes() []string {
	return []string{
		RemoteChange, RemoteRemoval, SystemChange, SystemRemoval, ProcessChange, ContainerChange, ContainerRemoval,
		HistoryChange, HistoryRemoval, DatabaseChange,
	}
}

// Removes reports whether a change takes something away.
func Removes(code string) bool { return strings.HasSuffix(code, "_removal") }

// changer says which words make a program change what is no file among its
// arguments: whole words, or beginnings where they end in "-" or ":".
type changer struct {
	change, removal string // codes
	writes, drops   string // words among the first operands
	reads           string // where set, any other word changes
	options         string // options that do
	first           int    // operands that may hold the word, 2 where 0
	always          bool
	unless          string // options with which it only shows
}

var (
	packages    = changer{change: SystemChange, removal: SystemRemoval, writes: "install reinstall upgrade update dist-upgrade full-upgrade add in up refresh switch pin tap link unlink", drops: "remove purge autoremove uninstall erase del rm delete clean autoclean cleanup", first: 1}
	libraries   = changer{change: SystemChange, removal: SystemRemoval, writes: "install i ci add update upgrade up link require create get dlx version init", drops: "uninstall remove rm un prune", first: 1}
	published   = changer{change: RemoteChange, removal: RemoteRemoval, writes: "publish upload push release deploy", drops: "unpublish yank", first: 1}
	services    = changer{change: SystemChange, writes: "start stop restart reload enable disable reenable mask unmask isolate kill edit set-property daemon-reload daemon-reexec try-restart reload-or-restart link preset revert set-default poweroff reboot halt suspend hibernate kexec rescue emergency load unload bootstrap bootout kickstart add remove"}
	dockers     = changer{change: ContainerChange, removal: ContainerRemoval, reads: "ps images logs inspect info version stats top events history search port diff ls list config df context", drops: "rm rmi prune down remove delete", first: 2}
	clusters    = changer{change: RemoteChange, removal: RemoteRemoval, reads: "get describe logs top explain api-resources api-versions version cluster-info config auth diff events wait completion options kustomize", drops: "delete drain", first: 1}
	cloudChange = changer{
		change: RemoteChange, removal: RemoteRemoval, first: 5,
		writes: "create update deploy start stop restart set add import patch apply reset resize scale enable disable invoke call publish send run submit promote rollback rename attach detach move mb up create- put- update- modify- start- stop- run- attach- detach- associate- disassociate- reboot- send- tag- untag- enable- disable- register- import- restore- copy- set- add- authorize- allocate- cancel- reset-",
		drops:  "delete destroy purge remove terminate rb rm delete- remove- terminate- deregister- purge- revoke- release- destroy-",
	}
	forges   = changer{change: RemoteChange, removal: RemoteRemoval, writes: "create edit close reopen merge comment review archive rename transfer lock unlock upload set run rerun cancel enable disable sync fork ready pin unpin develop update note approve", drops: "delete remove unarchive", first: 2}
	accounts = changer{change: SystemChange, always: true, unless: "-S --status -D --defaults"}
	mailers  = changer{change: RemoteChange, always: true}
	powers   = changer{change: SystemChange, always: true, unless: "--show --wtmp-only -w"}
	settings = changer{change: SystemChange, writes: "set- set add del delete change replace flush append insert up down link enable disable terminate- kill- lock- unlock- allow deny reject limit reset reload mode create destroy import", first: 4}

	changers = map[string][]changer{
		"apt": {packages}, "apt-get": {packages}, "aptitude": {packages}, "dnf": {packages}, "yum": {packages}, "zypper": {packages}, "apk": {packages}, "brew": {packages}, "port": {packages}, "snap": {packages}, "flatpak": {packages},
		"choco": {packages}, "winget": {packages}, "scoop": {packages}, "pkg": {packages}, "microdnf": {packages}, "tdnf": {packages}, "nix-env": {{change: SystemChange, options: "-i -e -u --install --uninstall --upgrade"}},
		"dpkg": {{change: SystemChange, options: "-i --install --unpack --configure"}, {change: SystemRemoval, options: "-r --remove -P --purge"}}, "rpm": {{change: SystemChange, options: "-i -U -F -ivh -Uvh --install --upgrade --import"}, {change: SystemRemoval, options: "-e --erase"}},
		"npm": {libraries, published}, "pnpm": {libraries, published}, "yarn": {libraries, published}, "bun": {libraries, published}, "pip": {libraries}, "pip3": {libraries}, "pipx": {libraries}, "gem": {libraries, published}, "cargo": {{change: SystemChange, removal: SystemRemoval, writes: "install add", drops: "uninstall remove", first: 1}, published},
		"conda": {libraries}, "mamba": {libraries}, "composer": {libraries}, "poetry": {libraries, published}, "uv": {libraries, published}, "twine": {published}, "go": {{change: SystemChange, writes: "install get", first: 1}},
		"systemctl": {services}, "service": {services}, "rc-service": {services}, "launchctl": {services}, "initctl": {services}, "supervisorctl": {services}, "pm2": {services}, "sv": {services}, "invoke-rc.d": {services}, "update-rc.d": {services}, "chkconfig": {services},
		"kill": {{change: ProcessChange, always: true, unless: "-l -L --list --table -0"}}, "pkill": {{change: ProcessChange, always: true}}, "killall": {{change: ProcessChange, always: true, unless: "-l --list"}}, "skill": {{change: ProcessChange, always: true}}, "xkill": {{change: ProcessChange, always: true}}, "taskkill": {{change: ProcessChange, always: true}}, "renice": {{change: ProcessChange, always: true}},
		"docker": {dockers}, "podman": {dockers}, "nerdctl": {dockers}, "docker-compose": {dockers}, "podman-compose": {dockers},
		"kubectl": {clusters}, "oc": {clusters}, "helm": {{change: RemoteChange, removal: RemoteRemoval, writes: "install upgrade rollback push", drops: "uninstall delete", first: 1}},
		"aws": {cloudChange}, "gcloud": {cloudChange}, "az": {cloudChange}, "oci": {cloudChange}, "doctl": {cloudChange}, "hcloud": {cloudChange}, "aliyun": {cloudChange}, "openstack": {cloudChange}, "heroku": {cloudChange}, "fly": {cloudChange}, "flyctl": {cloudChange}, "vercel": {cloudChange}, "netlify": {cloudChange}, "wrangler": {cloudChange, published}, "firebase": {cloudChange}, "eksctl": {cloudChange},
		"terraform": {{change: RemoteChange, removal: RemoteRemoval, writes: "apply import taint untaint", drops: "destroy", first: 1}}, "tofu": {{change: RemoteChange, removal: RemoteRemoval, writes: "apply import taint untaint", drops: "destroy", first: 1}}, "terragrunt": {{change: RemoteChange, removal: RemoteRemoval, writes: "apply import", drops: "destroy"}}, "pulumi": {{change: RemoteChange, removal: RemoteRemoval, writes: "up update import cancel", drops: "destroy rm", first: 1}},
		"rclone": {{change: RemoteChange, removal: RemoteRemoval, writes: "copy copyto mkdir rcat copyurl bisync", drops: "sync move moveto delete purge deletefile rmdir rmdirs cleanup", first: 1}}, "gsutil": {{change: RemoteChange, removal: RemoteRemoval, writes: "cp mb setmeta acl iam", drops: "rm rb mv rsync", first: 1}}, "mc": {{change: RemoteChange, removal: RemoteRemoval, writes: "cp mb put pipe", drops: "rm rb mv mirror", first: 1}}, "s3cmd": {{change: RemoteChange, removal: RemoteRemoval, writes: "put mb cp modify", drops: "del rm rb mv sync", first: 1}},
		"gh": {forges}, "glab": {forges}, "hub": {forges}, "mail": {mailers}, "mailx": {mailers}, "sendmail": {mailers}, "mutt": {mailers}, "msmtp": {mailers}, "swaks": {mailers},
		"useradd": {accounts}, "adduser": {accounts}, "usermod": {accounts}, "groupadd": {accounts}, "addgroup": {accounts}, "groupmod": {accounts}, "passwd": {accounts}, "chpasswd": {accounts}, "chsh": {accounts}, "chfn": {accounts}, "gpasswd": {accounts}, "visudo": {accounts}, "vipw": {accounts},
		"userdel": {{change: SystemRemoval, always: true}}, "deluser": {{change: SystemRemoval, always: true}}, "groupdel": {{change: SystemRemoval, always: true}}, "delgroup": {{change: SystemRemoval, always: true}},
		"shutdown": {powers}, "reboot": {powers}, "halt": {powers}, "poweroff": {powers}, "telinit": {powers}, "umount": {powers}, "swapon": {{change: SystemChange, always: true, unless: "-s --summary --show"}}, "swapoff": {powers}, "modprobe": {{change: SystemChange, always: true, unless: "-n --dry-run --show-depends -c --showconfig"}}, "insmod": {powers}, "rmmod": {powers}, "at": {{change: SystemChange, always: true, unless: "-l -c"}}, "batch": {powers}, "crontab": {{change: SystemChange, always: true, unless: "-l -V"}},
		"iptables": {{change: SystemChange, always: true, unless: "-L -S --list --list-rules -C --check"}}, "ip6tables": {{change: SystemChange, always: true, unless: "-L -S --list --list-rules -C --check"}}, "sysctl": {{change: SystemChange, options: "-w --write -p --load --system"}}, "firewall-cmd": {{change: SystemChange, unless: "--list-all --state --get-zones --list-ports --list-services", always: true}},
		"nft": {settings}, "ufw": {settings}, "ip": {settings}, "route": {settings}, "ifconfig": {settings}, "hostnamectl": {settings}, "timedatectl": {settings}, "localectl": {settings}, "loginctl": {settings}, "nmcli": {settings},
		"dropdb": {{change: DatabaseChange, always: true}}, "createdb": {{change: DatabaseChange, always: true}}, "pg_restore": {{change: DatabaseChange, always: true, unless: "-l --list"}}, "mysqlimport": {{change: DatabaseChange, always: true}}, "mongorestore": {{change: DatabaseChange, always: true}}, "mongoimport": {{change: DatabaseChange, always: true}}, "mysqladmin": {{change: DatabaseChange, writes: "create drop password shutdown flush- kill", first: 4}},
	}
)

// changes records what a program changes that is no file of this machine.
func (s *shell) changes(name string, args []field, in stream) {
	list := changers[name]
	if s.quiet || !changesMore(name) || rehearsed(args, false) {
		return
	}
	for i := range list {
		if code := list[i].code(args); code != "" {
			s.change(code)
		}
	}
	switch name {
	case "git":
		s.change(gitChange(args))
	case "curl", "wget", "http", "https", "xh":
		s.change(requestChange(name, args))
	case "aws":
		if _, to := sources(args, ""); given(args, "cp mv sync") && strings.HasPrefix(to.text, "s3://") {
			s.change(pick(given(args, "--delete"), RemoteRemoval, RemoteChange))
		}
	case "rsync", "scp", "sftp":
		if _, to := sources(args, uses[name].values); remote(to.text) {
			s.change(pick(slices.ContainsFunc(args, func(f field) bool { return strings.HasPrefix(f.text, "--del") }), RemoteRemoval, RemoteChange))
		}
	case "gh", "glab":
		if ops := operands(args, ""); len(ops) > 0 && ops[0].text == "api" {
			s.change(requestChange("curl", args))
		}
	default:
		if queries[name] != "" {
			s.change(queryChange(queries[name], args, in))
		}
	}
}

// changesMore reports whether changes knows a program.
func changesMore(name string) bool {
	return changers[name] != nil || clients[name] || queries[name] != ""
}

// clients are the programs beside those in changers.
var clients = set("git curl wget http https xh aws rsync scp sftp gh glab")

func pick(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}

func (s *shell) change(code string) {
	d := Danger{Code: code, Arg: s.arg}
	if code != "" && !slices.Contains(s.c.touch.Changes, d) {
		s.c.touch.Changes = append(s.c.touch.Changes, d)
	}
}

// code returns what one use of a program changes, empty where it only shows.
func (c *changer) code(args []field) string {
	if c.unless != "" && given(args, c.unless) || len(args) > 0 && (args[0].text == "--version" || args[0].text == "--help") {
		return ""
	}
	if c.always || c.options != "" && given(args, c.options) {
		return c.change
	}
	ops := operands(args, "HCfnpckHlP")
	words := make([]string, 0, 6)
	for _, o := range ops[:min(len(ops), max(c.first, 2))] {
		words = append(words, strings.ToLower(o.text))
	}
	first := c.first
	if first == 0 {
		first = 2
	}
	switch {
	case c.drops != "" && verbs{words: c.drops, first: first}.hit(words):
		return cmpCode(c.removal, c.change)
	case c.writes != "" && verbs{words: c.writes, first: first}.hit(words):
		return c.change
	case c.reads != "" && len(words) > 0 && !(verbs{words: c.reads, first: first}).hit(words):
		return c.change
	}
	return ""
}

// gitChange tells what git changes: a remote, or the repository.
func gitChange(args []field) string {
	ops := operands(args, "Cc")
	if len(ops) == 0 {
		return ""
	}
	verb, rest := ops[0].text, ops[1:]
	switch verb {
	case "push":
		drops := given(args, "-f --force --force-with-lease -d --delete --mirror --prune") ||
			slices.ContainsFunc(rest, func(f field) bool { return strings.HasPrefix(f.text, ":") || strings.HasPrefix(f.text, "+") })
		return pick(drops, RemoteRemoval, RemoteChange)
	case "clean", "rm", "filter-branch", "filter-repo":
		return HistoryRemoval
	case "reset":
		return pick(given(args, "--hard"), HistoryRemoval, HistoryChange)
	case "commit", "merge", "rebase", "revert", "cherry-pick", "am", "apply", "checkout", "switch", "restore", "add", "mv", "pull", "fetch", "clone", "init", "gc", "update-ref", "replace", "lfs":
		return HistoryChange
	case "stash":
		if len(rest) == 0 || rest[0].text != "list" && rest[0].text != "show" {
			return pick(len(rest) > 0 && (rest[0].text == "drop" || rest[0].text == "clear"), HistoryRemoval, HistoryChange)
		}
	case "branch", "tag":
		if given(args, "-d -D --delete") {
			return HistoryRemoval
		}
		if len(rest) > 0 && !given(args, "-l --list --contains --merged --no-merged -v -vv --points-at --format --sort") {
			return HistoryChange
		}
	case "remote", "worktree", "submodule", "notes":
		if len(rest) > 0 && rest[0].text != "show" && rest[0].text != "list" && rest[0].text != "get-url" && rest[0].text != "status" {
			return HistoryChange
		}
	}
	return ""
}

// requestChange tells whether a request asks a server for more than an answer.
func requestChange(name string, args []field) string {
	method := ""
	sends := false
	for i, a := range args {
		opt, val, joined := optionOf(a, "XdFT")
		if !joined && i+1 < len(args) {
			val = args[i+1]
		}
		switch opt {
		case "-X", "--request", "--method":
			method = strings.ToUpper(val.text)
		case "-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--data-urlencode", "-F", "--form", "--form-string", "-T", "--upload-file", "--json", "--post-data", "--post-file", "--body-data", "--body-file", "-f", "--field", "--raw-field", "--input":
			sends = sends || name != "wget" && (opt != "-f" && opt != "--field" || has(args, "api")) || strings.HasPrefix(opt, "--post") || strings.HasPrefix(opt, "--body")
		case "-G", "--get":
			sends, method = false, "GET"
		}
	}
	if ops := operands(args, ""); name != "curl" && name != "wget" && len(ops) > 0 && ops[0].text == strings.ToUpper(ops[0].text) && strings.Trim(ops[0].text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		method = ops[0].text
	}
	switch method {
	case "DELETE":
		return RemoteRemoval
	case "GET", "HEAD", "OPTIONS", "TRACE":
		return ""
	case "":
		return pick(sends, RemoteChange, "")
	}
	return RemoteChange
}

var (
	sqlChange   = regexp.MustCompile(`(?i)\b(insert\s+into|replace\s+into|update\s+\S+\s+set|delete\s+from|(create|alter|drop)\s+(unique\s+)?(table|database|index|view|user|role|schema|extension|function|sequence|type)|truncate\s|grant\s.{1,200}\sto\s|revoke\s|copy\s+\S+\s+from\b)`)
	mongoChange = regexp.MustCompile(`\.(insert|update|replace|delete|remove|drop|create|rename|bulkWrite|findOneAnd|findAndModify)\w*\s*\(`)
	redisReads  = set("get mget keys scan info ping ttl type exists hget hgetall hkeys hvals hlen llen lrange lindex smembers scard sismember zrange zcard zscore strlen dbsize memory monitor client config time object randomkey pttl getrange xrange xlen xinfo slowlog latency role echo command subscribe psubscribe --scan --stat --bigkeys --latency")
)

// queryChange tells whether a statement in a client's arguments, or on its
// input, changes what is stored.
func queryChange(lang string, args []field, in stream) string {
	texts := []string{in.text}
	for _, a := range args {
		texts = append(texts, a.text)
	}
	if lang == "redis" {
		if ops := operands(args, "hpanu"); len(ops) > 0 && !redisReads[strings.ToLower(ops[0].text)] {
			return DatabaseChange
		}
		return ""
	}
	re := sqlChange
	if lang == "mongo" {
		re = mongoChange
	}
	for _, t := range texts {
		if len(t) <= maxQuery && re.MatchString(t) {
			return DatabaseChange
		}
	}
	return ""
}
