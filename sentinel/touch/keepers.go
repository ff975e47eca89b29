package touch

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// lostByWord are the words of frameworks' own tools that empty a database, and
// can't be anything else, whatever runs them.
var lostByWord = set("db:drop db:wipe db:purge db:reset db:drop:all migrate:fresh migrate:reset schema:drop doctrine:database:drop doctrine:schema:drop orm:schema-tool:drop ecto.drop ecto.reset ash.reset " +
	"reset_db reset_schema drop-all --force-reset")

// lostByWords are programs and the words that, one after the other, destroy
// what they look after.
var lostByWords = map[string][]string{
	DatabaseLoss: {
		"manage.py flush", "django-admin flush", "django-admin sqlflush", "manage.py sqlflush", "flyway clean", "diesel database reset", "diesel database drop", "sqlx database drop", "sqlx database reset", "alembic downgrade base",
		"knex migrate:rollback --all", "mongorestore --drop", "pg_restore --clean", "pg_restore -c", "pg_resetwal -f", "neonctl projects delete", "neonctl branches delete", "neonctl databases delete", "pscale database delete", "pscale branch delete",
		"turso db destroy", "dbmate drop", "goose reset", "atlas schema clean", "hasura database drop", "migrate drop", "dynamodb delete-table", "atlas clusters delete", "confluent delete", "kcadm.sh delete",
	},
	BackupLoss: {"pgbackrest stanza-delete", "barman delete", "wal-g delete", "timeshift --delete", "timeshift --delete-all", "restic --unsafe-allow-remove-all", "btrbk clean", "bup gc", "rdiff-backup --remove-older-than", "proxmox-backup-client forget"},
	CloudDestroy: {
		"railway down", "render services delete", "kubeadm reset", "ceph osd pool delete", "ceph osd purge", "ceph fs rm", "rbd rm", "rbd remove", "gluster volume delete", "gsutil rsync -d", "aws organizations close-account", "b2 delete-bucket", "b2 bucket delete",
		"kubectl replace --force", "rke remove", "k0s reset", "talosctl reset", "nomad system gc", "cf delete", "cf delete-org", "cf delete-space", "shopify app delete", "sentry-cli delete",
	},
	VolumeLoss: {"fastboot erase", "fastboot flashall -w", "fastboot -w", "adb shell wipe data", "adb shell recovery --wipe_data", "lvreduce -f", "dmsetup remove_all -f", "efibootmgr -B", "efibootmgr --delete-bootnum", "cfdisk -z", "nvram -c", "mdadm --remove"},
	KeyLoss:    {"security delete-keychain", "ykman piv reset", "ykman fido reset", "tpm2_clear"},
	Persistence: {
		"passwd -d", "usermod -aG sudo", "usermod -aG wheel", "usermod -aG root", "usermod -G sudo", "usermod -aG admin", "gpasswd -a sudo", "adduser sudo", "useradd -o", "useradd -u 0", "usermod -u 0", "passwd --stdin", "chpasswd",
		"launchctl load", "launchctl bootstrap", "schtasks /create", "defaults write LoginHook", "defaults write LogoutHook", "fish_add_path", "at.exe",
	},
	UnknownTarget: {"userdel -r", "userdel --remove", "deluser --remove-home", "deluser --remove-all-files", "dscl -delete /users", "apt-get --allow-remove-essential", "apt --allow-remove-essential", "apt-get remove *", "apt remove *", "apt-get purge *", "apt purge *",
		"dpkg -P --force-all", "dpkg --purge --force-all", "dpkg -r --force-all", "dpkg --remove --force-all", "pacman -Rdd", "rpm -e --nodeps", "apk del --force-broken-world"},
}

var keepersOf = byProgram(lostByWords)

type keeperLoss struct {
	code  string
	words []string
}

func byProgram(lists map[string][]string) map[string][]keeperLoss {
	out := map[string][]keeperLoss{}
	for code, list := range lists {
		for _, line := range list {
			w := strings.Fields(line)
			out[w[0]] = append(out[w[0]], keeperLoss{code, w[1:]})
		}
	}
	return out
}

// keepers looks for what the tools lose that look after data, machines and
// accounts.
func (s *shell) keepers(name string, args []field) {
	if helps(args) || rehearsed(args, false) || len(args) == 0 && name != "chpasswd" {
		return
	}
	named := slices.ContainsFunc(args[:min(5, len(args))], func(f field) bool {
		return lostByWord[f.text] || strings.HasSuffix(f.text, "manage.py") || f.text == "knex" || f.text == "sequelize"
	})
	if !named && keepersOf[name] == nil && !asks[name] {
		return
	}
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = a.text
	}
	if !textual[name] && !scary[name] || name == "php" || strings.HasPrefix(name, "python") {
		for i, w := range words[:min(5, len(words))] {
			if lostByWord[w] && (i == 0 || words[i-1] != "-m") {
				s.doubt(DatabaseLoss)
			}
		}
	}
	s.keptBy(name, words)
	if i := slices.IndexFunc(words[:min(4, len(words))], func(w string) bool { return strings.HasSuffix(w, "manage.py") || w == "knex" || w == "sequelize" }); i >= 0 {
		s.keptBy(words[i][strings.LastIndexByte(words[i], '/')+1:], words[i+1:])
	}
	s.requests(name, words)
}

// keptBy looks for the words of one program, in their order.
func (s *shell) keptBy(name string, words []string) {
	for _, k := range keepersOf[name] {
		rest, ok := words, true
		for _, want := range k.words {
			i := slices.IndexFunc(rest, func(w string) bool {
				return w == want || want[0] == '/' && hasFold(w, want) || len(want) == 2 && want[0] == '-' && len(w) > 2 && w[0] == '-' && w[1] != '-' && len(w) < 5 && strings.IndexByte(w, want[1]) > 0
			})
			if ok = i >= 0; !ok {
				break
			}
			if want[0] != '-' {
				rest = rest[i+1:]
			}
		}
		if ok {
			s.doubt(k.code)
		}
	}
}

var (
	deleteMethod = regexp.MustCompile(`(?i)^(-x|--request=?|--method=?)?delete$`)
	wholeIndex   = regexp.MustCompile(`(?i)(?::9200/|/_all\b|/_delete_by_query|:8529/_api/(?:database|collection)|:5984/|:8086/.*\bdrop\b|:2375/volumes/|:8500/v1/kv/.*recurse)`)
)

// asks are the clients whose requests are looked at.
var asks = set("curl http https xh wget redis-cli valkey-cli")

// requests looks for what an HTTP client asks a database to delete, by its
// address: an index of a search engine, a database of CouchDB.
func (s *shell) requests(name string, words []string) {
	switch name {
	case "curl", "http", "https", "xh", "wget":
	case "redis-cli", "valkey-cli":
		if i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, "del") || strings.EqualFold(w, "unlink") }); i >= 0 && (i+1 == len(words) || words[len(words)-1] == "$read") {
			s.doubt(DatabaseLoss) // whatever it is handed
		}
		return
	default:
		return
	}
	deletes, index, query := false, false, false
	for i, w := range words {
		deletes = deletes || strings.EqualFold(w, "delete") && (i == 0 || words[i-1] == "-X" || strings.HasPrefix(words[i-1], "--request") || strings.HasPrefix(words[i-1], "--method")) || deleteMethod.MatchString(w) && len(w) > 6
		index = index || wholeIndex.MatchString(w)
		query = query || strings.Contains(w, "/_delete_by_query")
	}
	if deletes && index || query {
		s.doubt(DatabaseLoss)
	}
}

// massKill are the programs that signal by a property that every process of the
// system has.
func (s *shell) massKill(name string, args []field) {
	switch name {
	case "pkill", "killall", "skill", "snice":
		for i, a := range args {
			if i > 0 && slices.Contains([]string{"-u", "-U", "--euid", "--uid", "--user"}, args[i-1].text) && (a.text == "root" || a.text == "0") && len(operands(args, "uUGgtPs")) == 0 {
				s.danger(KillAll)
			}
			if a.text == "" && !a.unknown && name == "pkill" {
				s.danger(KillAll)
			}
		}
	case "fuser":
		if !flag(args, "k", "kill") {
			return
		}
		for _, f := range operands(args, "n") {
			if k, _ := s.tree(f.text); k != path.NoTree && (flag(args, "mM", "mount", "ismountpoint") || k == path.RootTree) {
				s.danger(KillAll)
			}
		}
	case "stress-ng":
		for i, a := range args {
			if (a.text == "--fork" || a.text == "--vfork" || a.text == "--clone" || a.text == "--daemon") && i+1 < len(args) && (args[i+1].text == "0" || args[i+1].text == "-1") && !given(args, "-t --timeout") {
				s.danger(ForkBomb)
			}
		}
	}
}
