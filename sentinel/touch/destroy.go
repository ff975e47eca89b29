package touch

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// verbs are the words of a program that take something away which nobody can
// bring back: whole words, or beginnings where they end in "-", "_" or ":".
// What the loss of it means, only its owner knows: these are doubts.
type verbs struct {
	code  string
	words string
	first int // operands that may hold the verb, 0: any of the first six
	spare string
}

var (
	clouds = verbs{code: CloudDestroy, words: "delete destroy terminate purge remove delete- terminate- destroy- deregister- purge- remove- schedule-key-deletion reset-instance release-address"}
	stores = verbs{code: CloudDestroy, words: "delete destroy purge remove rm forget prune drop wipe delete_ reset force_reset"}

	// destructive are the programs that look after resources elsewhere, and
	// their words. spare are things that are made again by themselves.
	destructive = map[string]verbs{
		"aws": clouds, "gcloud": clouds, "az": clouds, "oci": clouds, "ibmcloud": clouds, "aliyun": clouds, "doctl": clouds, "hcloud": clouds, "scw": clouds,
		"linode-cli": clouds, "openstack": clouds, "exo": clouds, "vultr": clouds, "vultr-cli": clouds, "eksctl": clouds, "kops": clouds, "sam": clouds,
		"copilot": clouds, "cdk": clouds, "serverless": clouds, "sls": clouds, "amplify": clouds, "eb": clouds, "bq": {code: CloudDestroy, words: "rm", first: 1},
		"gsutil":    {code: CloudDestroy, words: "rb", first: 1},
		"terraform": {code: CloudDestroy, words: "destroy", first: 1}, "tofu": {code: CloudDestroy, words: "destroy", first: 1},
		"terragrunt": {code: CloudDestroy, words: "destroy destroy-all", first: 2}, "pulumi": {code: CloudDestroy, words: "destroy rm remove", first: 2},
		"kubectl": {code: CloudDestroy, words: "delete drain", first: 4, spare: "pod pods po job jobs event events"}, "oc": {code: CloudDestroy, words: "delete", first: 4, spare: "pod pods po job jobs"},
		"helm": {code: CloudDestroy, words: "uninstall delete del un", first: 3}, "kind": {code: CloudDestroy, words: "delete", first: 1}, "k3d": {code: CloudDestroy, words: "delete", first: 2},
		"minikube": {code: CloudDestroy, words: "delete", first: 1}, "velero": stores, "argocd": {code: CloudDestroy, words: "delete", first: 2}, "flux": {code: CloudDestroy, words: "delete uninstall", first: 1},
		"heroku": {code: CloudDestroy, words: "apps:destroy apps:delete addons:destroy pg:reset domains:clear ps:kill pipelines:destroy spaces:destroy", first: 1},
		"fly":    {code: CloudDestroy, words: "destroy delete", first: 3}, "flyctl": {code: CloudDestroy, words: "destroy delete", first: 3},
		"vercel": {code: CloudDestroy, words: "rm remove", first: 2}, "netlify": {code: CloudDestroy, words: "sites:delete env:unset", first: 1},
		"wrangler": {code: CloudDestroy, words: "delete purge", first: 4}, "firebase": {code: CloudDestroy, words: "firestore:delete database:remove hosting:disable functions:delete projects:delete", first: 1},
		"railway": {code: CloudDestroy, words: "delete", first: 2}, "supabase": {code: CloudDestroy, words: "delete reset", first: 2}, "vagrant": {code: VolumeLoss, words: "destroy", first: 1},
		"virsh": {code: VolumeLoss, words: "undefine vol-delete vol-wipe pool-delete", first: 1}, "vboxmanage": {code: VolumeLoss, words: "unregistervm closemedium", first: 1},
		"multipass": {code: VolumeLoss, words: "purge delete", first: 1}, "lxc": {code: VolumeLoss, words: "delete", first: 2}, "incus": {code: VolumeLoss, words: "delete", first: 2}, "qm": {code: VolumeLoss, words: "destroy", first: 1},
		"gh": {code: CloudDestroy, words: "delete archive", first: 2}, "glab": {code: CloudDestroy, words: "delete archive", first: 2}, "circleci": {code: CloudDestroy, words: "delete remove-secret", first: 2},
		"gitlab-runner": {code: CloudDestroy, words: "unregister", first: 1}, "gitlab-ctl": {code: CloudDestroy, words: "cleanse uninstall", first: 1},
		"vault": {code: CloudDestroy, words: "delete destroy disable revoke operator-seal", first: 3}, "op": {code: CloudDestroy, words: "delete", first: 2},
		"doppler": {code: CloudDestroy, words: "delete", first: 2}, "infisical": {code: CloudDestroy, words: "delete", first: 2}, "bw": {code: CloudDestroy, words: "delete", first: 1},
		"rclone": {code: CloudDestroy, words: "delete purge deletefile rmdirs cleanup", first: 1}, "mc": {code: CloudDestroy, words: "rb", first: 1}, "s3cmd": {code: CloudDestroy, words: "rb", first: 1},
		"restic": {code: BackupLoss, words: "forget prune", first: 1}, "borg": {code: BackupLoss, words: "delete prune", first: 1}, "duplicity": {code: BackupLoss, words: "remove-older-than remove-all-but-n-full cleanup", first: 1},
		"kopia": {code: BackupLoss, words: "delete", first: 2}, "tarsnap": {code: BackupLoss}, "vssadmin": {code: BackupLoss, words: "delete", first: 1}, "wbadmin": {code: BackupLoss, words: "delete", first: 1},
		"wmic": {code: BackupLoss, words: "delete", first: 3}, "tmutil": {code: BackupLoss, words: "delete deletelocalsnapshots", first: 1}, "snapper": {code: BackupLoss, words: "delete", first: 3},
		"rabbitmqctl": {code: DatabaseLoss, words: "delete_ reset force_reset purge_queue clear_permissions", first: 1}, "rabbitmqadmin": {code: DatabaseLoss, words: "delete purge", first: 1},
		"nats": {code: DatabaseLoss, words: "purge delete rm del", first: 2}, "etcdctl": {code: DatabaseLoss}, "consul": {code: DatabaseLoss}, "influx": {code: DatabaseLoss, words: "delete", first: 2},
		"mysqladmin": {code: DatabaseLoss, words: "drop flush-", first: 4}, "dropdb": {code: DatabaseLoss}, "dropuser": {code: DatabaseLoss}, "pg_dropcluster": {code: DatabaseLoss},
		"rails": {code: DatabaseLoss, words: "db:drop db:reset db:purge db:truncate_all db:drop:", first: 1}, "rake": {code: DatabaseLoss, words: "db:drop db:reset db:purge db:drop:"},
		"prisma": {code: DatabaseLoss, words: "reset", first: 3}, "npm": {code: CloudDestroy, words: "unpublish", first: 1}, "cargo": {code: CloudDestroy, words: "yank", first: 1}, "gem": {code: CloudDestroy, words: "yank", first: 1},
		"artisan": {code: DatabaseLoss, words: "migrate:fresh migrate:reset db:wipe", first: 1}, "kafka-delete-records": {code: DatabaseLoss}, "gpg": {code: KeyLoss}, "gpg2": {code: KeyLoss},
	}
	// containers run a command in a container, or look after its volumes.
	containers = set("docker podman nerdctl docker-compose podman-compose")
)

// loses looks for the loss of what somebody keeps elsewhere: resources of a
// cloud, databases, volumes, backups.
func (s *shell) loses(name string, args []field, in stream) {
	if !keepsElsewhere(name) {
		return
	}
	name = strings.TrimSuffix(name, ".sh")
	ops := operands(args, "")
	words := make([]string, len(ops))
	for i, o := range ops {
		words[i] = strings.ToLower(o.text)
	}
	if v, ok := destructive[name]; !rehearsed(args, v.code == BackupLoss) && (ok && v.hit(words) || deletesByFlag(name, words, args)) {
		s.doubt(cmpCode(v.code, CloudDestroy))
	}
	switch {
	case (name == "fdisk" || name == "gdisk" || name == "cfdisk") && in.open && len(ops) > 0 && slices.ContainsFunc(s.resolve(ops[0].text), path.IsDevice) && !flag(args, "l", "list"):
		s.danger(DeviceWrite) // it does as its input says
	case (name == "pkill" || name == "killall") && slices.ContainsFunc(words, func(w string) bool { return w != "" && strings.Trim(w, ".*^$") == "" }):
		s.danger(KillAll)
	case drives[name]:
		s.drive(name, args)
	case containers[name]:
		s.inContainer(words, args, in)
		s.container(words, args)
	case name == "kubectl" || name == "oc":
		s.inPod(args, in)
	case name == "crontab" && !flag(args, "lV") && len(args) > 0, name == "git" && rewires(words):
		s.doubt(Persistence)
	case strings.HasPrefix(name, "kafka-") && flag(args, "", "delete"):
		s.doubt(DatabaseLoss)
	case name == "npx" || name == "bunx" || name == "pnpm" || name == "yarn" || name == "php" || name == "bundle":
		s.through(args, in)
	}
	s.query(name, args, in)
}

// keepsElsewhere reports whether loses knows a program.
func keepsElsewhere(name string) bool {
	name = strings.TrimSuffix(name, ".sh")
	_, ok := destructive[name]
	return ok || lossy[name] || drives[name] || containers[name] || queries[name] != "" || strings.HasPrefix(name, "kafka-")
}

// lossy are the other programs that loses looks at.
var lossy = set("fdisk gdisk cfdisk pkill killall kubectl oc crontab git npx bunx pnpm yarn php bundle gpg gpg2 etcdctl consul tarsnap gh glab")

// rehearsed reports whether a command only shows what it would do, or how it is
// used. "--dry-run=none" is no rehearsal.
func rehearsed(args []field, short bool) bool {
	for i, a := range args {
		name, val, joined := strings.Cut(a.text, "=")
		switch name {
		case "--":
			return false
		case "--help", "-help":
			return true
		case "-h":
			if i == len(args)-1 {
				return true
			}
		case "-n":
			if short {
				return true
			}
		case "--dry-run", "--dryrun":
			next := ""
			if i+1 < len(args) {
				next = args[i+1].text
			}
			if joined && val != "none" && val != "false" && val != "0" || !joined && next != "none" && next != "false" {
				return true
			}
		}
	}
	return false
}

func cmpCode(code, or string) string {
	if code == "" {
		return or
	}
	return code
}

// rewires reports whether "git config" makes git run something from now on.
func rewires(words []string) bool {
	i := slices.Index(words, "config")
	if i < 0 || i+2 >= len(words) {
		return false
	}
	k := words[i+1]
	return slices.Contains([]string{"core.hookspath", "core.sshcommand", "core.pager", "core.editor", "core.fsmonitor", "credential.helper"}, k) && strings.ContainsAny(words[i+2], "/!;|&$ ") ||
		strings.HasPrefix(k, "alias.") && strings.HasPrefix(words[i+2], "!")
}

// through runs the program that a package runner starts.
func (s *shell) through(args []field, in stream) {
	ops := operands(args, "")
	if len(ops) > 1 && (ops[0].text == "exec" || ops[0].text == "dlx" || ops[0].text == "run") {
		ops = ops[1:]
	}
	if len(ops) > 0 {
		if _, ok := destructive[strings.ToLower(ops[0].text)]; ok {
			s.loses(strings.ToLower(ops[0].text), ops[1:], in)
		}
	}
}

func (v verbs) hit(words []string) bool {
	n := v.first
	if n == 0 {
		n = 6
	}
	spare := strings.Fields(v.spare)
	for i, w := range words[:min(n, len(words))] {
		for verb := range strings.FieldsSeq(v.words) {
			open := strings.IndexByte("-_:", verb[len(verb)-1]) >= 0
			if w != verb && (!open || !strings.HasPrefix(w, verb)) {
				continue
			}
			if i+1 < len(words) && slices.Contains(spare, strings.SplitN(words[i+1], "/", 2)[0]) {
				return false
			}
			return true
		}
	}
	return false
}

// deletesByFlag are the tools whose verb is an option, or needs one.
func deletesByFlag(name string, words []string, args []field) bool {
	at := func(i int, w string) bool { return i < len(words) && words[i] == w }
	switch name {
	case "aws":
		return at(0, "s3") && (at(1, "rb") || at(1, "rm") && flag(args, "", "recursive") || at(1, "sync") && flag(args, "", "delete")) || at(0, "s3api") && at(1, "put-bucket-lifecycle")
	case "gsutil", "mc", "s3cmd":
		return (at(0, "rm") || at(0, "del")) && flag(args, "rR", "recursive", "all-versions") || at(1, "rm") && flag(args, "rR")
	case "gcloud":
		return at(0, "storage") && at(1, "rm") && flag(args, "rR", "recursive")
	case "terraform", "tofu", "terragrunt":
		return at(0, "apply") && has(args, "-destroy") || at(0, "state") && at(1, "rm")
	case "rclone":
		return at(0, "sync") && slices.ContainsFunc(args, func(f field) bool { return strings.HasPrefix(f.text, "--delete-") })
	case "consul":
		return at(0, "kv") && at(1, "delete") && flag(args, "", "recurse") || has(args, "-recurse") && at(1, "delete")
	case "etcdctl":
		return at(0, "del") && flag(args, "", "prefix", "from-key")
	case "gpg", "gpg2":
		return slices.ContainsFunc(args, func(f field) bool { return strings.HasPrefix(f.text, "--delete-secret") })
	case "tarsnap":
		return flag(args, "d", "nuke")
	case "dropdb", "dropuser", "pg_dropcluster", "kafka-delete-records":
		return len(words) > 0 || len(args) > 0
	case "gh", "glab":
		return at(0, "api") && slices.ContainsFunc(args, func(f field) bool {
			return strings.EqualFold(f.text, "delete") || strings.EqualFold(f.text, "-xdelete")
		})
	}
	return false
}

// container looks for the volumes that go, and with them what is on them; a
// container or an image is made again.
func (s *shell) container(words []string, args []field) {
	at := func(i int, list ...string) bool { return i < len(words) && slices.Contains(list, words[i]) }
	compose := slices.Index(words, "down")
	switch {
	case at(0, "volume") && at(1, "rm", "remove", "prune"), at(0, "system") && at(1, "prune", "reset"),
		compose >= 0 && flag(args, "v", "volumes"), at(0, "swarm") && at(1, "leave"), at(0, "stack") && at(1, "rm"):
		s.doubt(VolumeLoss)
	}
}

// wipes reports whether something that is removed with all below it is the
// working tree, or the history of it.
func (s *shell) wipes(f field) bool {
	if s.c.env.Root == "" && !slices.ContainsFunc(s.resolve("."), func(p string) bool { return p == path.UnknownFolder }) {
		return false
	}
	root := strings.TrimSuffix(s.c.env.Root, "/")
	if root == "" {
		root = path.UnknownFolder
	}
	for _, p := range s.resolve(f.text) {
		for {
			i := strings.LastIndexByte(p, '/')
			if i <= 0 || !path.IsEveryEntry(p[i+1:]) {
				break
			}
			p = p[:i]
		}
		if p == root || p != "/" && strings.HasPrefix(root, p+"/") || p == root+"/.git" {
			return true
		}
	}
	return false
}
