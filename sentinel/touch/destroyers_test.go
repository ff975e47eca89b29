package touch_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch"
)

// What destroys a device, a tree or the machine's processes is seen whichever
// program does it; the same program at its honest work passes.
func TestDestroyers(t *testing.T) {
	for code, tc := range map[string]struct{ does, near []string }{
		touch.DeviceWrite: {
			[]string{
				"dcfldd if=x of=/dev/sdb", "dc3dd wipe=/dev/sdb", "ddrescue -f /dev/zero /dev/sdb", "pv -o /dev/sdb x",
				"qemu-img convert -O raw a.qcow2 /dev/sdb", "qemu-img dd if=x of=/dev/sdb", "fallocate -z -l 1G /dev/sdb", "truncate -s 0 /dev/sdb",
				"mkisofs -o /dev/sdb .", "socat -u FILE:x FILE:/dev/sdb", "scrub -p dod /dev/sdb", "nwipe --autonuke /dev/sdb",
				"hdparm --write-sector 0 /dev/sdb", "nvme write-zeroes /dev/nvme0n1 -s 0", "nvme format /dev/nvme0", "sg_format --format /dev/sdb",
				"flash_erase /dev/mtd0 0 0",
				"flashrom -p internal -E", "mtd erase firmware", "debugfs -w -R 'clri <2>' /dev/sdb1", "diskutil eraseDisk JHFS+ X disk2",
				"sgdisk -Z /dev/sdb", "wipefs --all /dev/sdb", "sfdisk /dev/sdb", "cp a.iso /dev/sdb", "tee /de?/sdb", "cd /dev && dd if=x of=sdb",
			},
			[]string{
				"dcfldd if=x of=y.img", "ddrescue /dev/cdrom out.iso map", "pv /dev/null", "qemu-img convert -O raw a.qcow2 a.raw",
				"fallocate -l 1G swap.img", "mkisofs -o a.iso .", "socat FILE:x STDOUT", "hdparm -I /dev/sda", "nvme list",
				"flashrom -p internal -r old.bin",
				"debugfs -R stat /dev/sda1", "diskutil list", "sgdisk -p /dev/sda", "wipefs -n -a /dev/sda", "sfdisk -l /dev/sda", "cp /dev/null x",
				"tee x", "dd if=/dev/zero of=x bs=1M count=1",
			},
		},
		touch.MakeFS: {
			[]string{"mkfs.ext4 /dev/sdb1", "mkfs -t ext4 /dev/sdb.img", "mkudffs /dev/sdb", "mkreiserfs -q /dev/sdb", "mkfs.ext4 sdb1",
				"mkfs.ext4 $DEV", "mkfs.ext4 /dev/sd?", "cd /dev; mkfs.ext4 ./sdb1", "mkfs.ext4 LABEL=x", "mkfs.xfs -d name=/dev/sdb",
				"Format-Volume -DriveLetter C"},
			[]string{"mkfs.ext4 disk.img", "mkfs.ext4 -F ./test.img", "mkfs -t ext4 build/rootfs", "mkfs.vfat -F 32 /tmp/esp.img",
				"mkfs.ext4 -E lazy_itable_init=0 -L data disk.img", "mkfs.ext4 -n /dev/sda1"},
		},
		touch.VolumeDestroy: {
			[]string{"zpool create -f tank /dev/sdb", "cryptsetup erase /dev/sdb2", "zfs destroy -r tank/x", "lvremove -f vg/x"},
			[]string{"zpool status", "zpool create -n tank /dev/sdb", "cryptsetup status x"},
		},
		touch.RmRoot: {
			[]string{"tar cf /dev/null --remove-files /", "tar --remove-files -czf x.tgz /", "7z a -sdel a.7z /", "zip -rm a.zip /", "gio trash /",
				"trash-put /", "cmake -E rm -rf /", "cmake -E remove_directory /", "rsync -a --delete x/ /", "rsync -a --remove-source-files / x",
				"btrfs subvolume delete /", "git -C / clean -fdx"},
			[]string{"tar czf a.tgz --remove-files build", "tar tf / ", "7z a -sdel a.7z logs", "zip -r a.zip /srv/x", "zip -m a.zip x.log",
				"gio trash x", "gio info /", "trash-put x", "cmake -E rm -rf build", "rsync -a --delete x/ /srv/www/x/",
				"btrfs subvolume delete /mnt/old", "git clean -fdx", "git -C sub clean -fdx"},
		},
		touch.ChmodTree: {
			[]string{"chmod -R -x /", "chmod -R --reference=x /", "setfacl -R -m u:x:rwx /", "chattr -R +i /etc", `icacls C:\ /reset /T`},
			[]string{"chmod -R -x build", "chmod -x /usr/local/x/y", "chmod --reference=a b", "setfacl -m u:x:r x", "chattr +i x"},
		},
		touch.ChownTree: {[]string{"chown -R --reference=x /usr", "chown -R x /", `takeown /f C:\ /r /d y`},
			[]string{"chown --reference=a b", "chown -R x build"}},
		touch.RmSystem: {[]string{"del /s /q %SystemRoot%", `rmdir /s /q C:\Users`, "bleachbit --shred /etc"},
			[]string{"del /s /q build", "rmdir /s build", "bleachbit --list"}},
	} {
		for _, line := range tc.does {
			got := shell(t, line)
			require.True(t, slices.ContainsFunc(got.Dangers, func(d touch.Danger) bool { return d.Code == code }), "%s: %s: %v", code, line,
				got.Dangers)
		}
		for _, line := range tc.near {
			require.Empty(t, shell(t, line).Dangers, "%s: %s", code, line)
		}
	}
}

// Processes that breed are found through names, circles and other shells; work
// in the background that waits, ends or has a bound is not.
func TestBreeding(t *testing.T) {
	for _, line := range []string{
		":(){ :|:& };:", "f() { f | f & }; f", "a(){ b|b& }; b(){ a|a& }; a", "a(){ b; }; b(){ c & c; }; c(){ a; }; a", "f(){ eval 'f|f&'; }; f",
		"f(){ bash -c f & bash -c f & }; f", "bash -c '$0 & $0'", `"$0" & "$0" &`, "while true; do $0 & done", "while :; do sleep 9 & done",
		"until false; do (sleep 9 &); done", "for ((;;)); do yes >/dev/null & done",
		"while true; do bash -c 'while true; do sleep 9 & done' & done", "yes | xargs -P0 -I{} sleep 9", "seq inf | xargs -P 0 -n1 sleep",
		"%0|%0",
	} {
		require.True(t, slices.ContainsFunc(shell(t, line).Dangers, func(d touch.Danger) bool { return d.Code == touch.ForkBomb }), line)
	}
	for _, line := range []string{
		"a(){ b & wait; }; b(){ echo x; }; a", "main(){ w & w & wait; }; w(){ echo x; }; main", "while true; do date; sleep 5; done",
		"while true; do curl -s a.example & sleep 1; done", "while :; do nc -l 80 < f & wait; done", "for i in 1 2 3; do ./w & done; wait",
		"yes | apt-get install x",
		"yes | head -n 5 | xargs -P0 echo", "seq 10 | xargs -P0 -n1 echo", `nohup "$0" --child now &`,
		`f() { if [ "$1" -gt 0 ]; then f 1 & fi; }; f 3`, "while read l; do echo $l & done < f", "f(){ f; }; f",
	} {
		require.Empty(t, shell(t, line).Dangers, line)
	}
}

// doubted holds each line to one doubt, and the lines near it to none.
func doubted(t *testing.T, code string, does, near []string) {
	t.Helper()
	for _, line := range does {
		require.Contains(t, codes(shell(t, line).Doubts), code, line)
	}
	for _, line := range near {
		got := shell(t, line)
		require.Empty(t, got.Doubts, line)
		require.Empty(t, got.Dangers, line)
	}
}

// The tools that look after data, machines and accounts lose them by words of
// their own.
func TestKeepers(t *testing.T) {
	doubted(t, touch.DatabaseLoss,
		[]string{"php artisan db:wipe", "python manage.py flush --noinput", "npx sequelize db:drop", "mix ecto.reset", "alembic downgrade base",
			"flyway clean", "sqlx database drop -y", "mongorestore --drop d", "pg_restore --clean -d a b", "npx prisma db push --force-reset",
			"curl -X DELETE localhost:9200/_all", "http DELETE localhost:9200/_all", "redis-cli --scan | xargs redis-cli del"},
		[]string{"php artisan migrate", "python manage.py migrate", "npx sequelize db:migrate", "mix ecto.migrate", "alembic downgrade -1",
			"flyway info", "sqlx database create", "mongorestore d", "pg_restore -d a b", "npx prisma db push",
			"curl -X DELETE localhost:3000/users/1", "curl localhost:9200/_all/_settings", "redis-cli del session:42", "git commit -m db:drop"})
	doubted(t, touch.BackupLoss,
		[]string{"pgbackrest stanza-delete --stanza=a", "barman delete s all", "rm -rf /backup", "rm -rf /var/backups/*"},
		[]string{"pgbackrest backup --stanza=a", "rm -rf /backup/2024-01", "rm -rf backups"})
	doubted(t, touch.CloudDestroy,
		[]string{"kubeadm reset -f", "rbd rm a", "ceph osd pool delete a a", "gsutil rsync -d a gs://b", "k3s-uninstall.sh"},
		[]string{"kubeadm version", "rbd ls", "ceph osd pool ls", "gsutil rsync -r a gs://b"})
	doubted(t, touch.Persistence,
		[]string{"usermod -aG sudo a", "passwd -d root", "echo root:a | chpasswd", "systemctl enable --now /tmp/a.service",
			"setcap cap_setuid+ep ./a", `reg add HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Run /v a /d b`},
		[]string{"usermod -aG docker dev", "passwd dev", "systemctl enable nginx", "setcap cap_net_bind_service=+ep ./a",
			`reg add HKCU\\Software\\App /v a /d b`})
	doubted(t, touch.UnknownTarget,
		[]string{"userdel -r a", "apt-get purge -y --allow-remove-essential libc6", "pacman -Rdd glibc", "apt remove --purge -y '*'"},
		[]string{"userdel a", "apt-get purge -y nginx", "pacman -Rs a", "apt remove -y 'php7.*'"})
}

// What somebody keeps elsewhere is lost by many programs, and asked about under
// one code for each kind.
func TestDoubts(t *testing.T) {
	for code, tc := range map[string]struct{ does, near []string }{
		touch.ProjectWipe: {
			[]string{"rm -rf .", "rm -rf *", "rm -rf ./*", "rm -rf .git", `rm -rf "$PWD"`, "rm -rf $(pwd)", "find . -delete",
				"find . -print0 | xargs -0 rm -rf", "cd sub; rm -rf ../*", "sudo rm -rf /workspace", `find . -exec rm -rf {} +`},
			[]string{"rm -rf build", "rm -rf node_modules/*", "cd build && rm -rf *", "rm -rf /tmp/x/.git", "find . -name '*.pyc' -delete", "rm *",
				"echo rm -rf .", "rm -r x"},
		},
		touch.CloudDestroy: {
			[]string{"aws ec2 terminate-instances --instance-ids i-1", "aws s3 rb s3://b --force", "aws s3 rm --recursive s3://b",
				"kubectl delete ns x --dry-run=none", "aws --region x rds delete-db-instance --db-instance-identifier d", "gcloud -q projects delete p",
				"az group delete -n g", "kubectl -n prod delete ns prod",
				"terraform destroy", "terraform -chdir=x apply -destroy", "helm uninstall x", "pulumi destroy -y", "gh repo delete a/b",
				"sudo -E env A=1 terraform destroy", "bash -c 'terraform destroy'", "npx wrangler d1 delete x", "ssh ops 'kubectl delete ns x'"},
			[]string{"aws s3 ls", "aws s3 rm s3://b/k", "kubectl delete pod x", "kubectl delete pod/x", "terraform plan -destroy",
				"aws ec2 terminate-instances --dry-run", "gh issue create --title delete", "echo terraform destroy", "terraform --help destroy",
				"kubectl get x", "kubectl delete ns x --dry-run=client"},
		},
		touch.DatabaseLoss: {
			[]string{"psql -c 'DROP DATABASE x'", "psql -c 'drop table if exists x; select 1'", "psql -c 'TRUNCATE x'", "mysql -e'delete from t'",
				"mysql --execute='update t set a=1'", "echo 'DROP SCHEMA s' | psql", "psql <<E\nselect 1;\n/* no */ drop table t;\nE",
				"sqlite3 f 'delete from t where 1=1'",
				"mongosh --eval 'db.dropDatabase()'", "mongo x --eval 'db.c.deleteMany({})'", "redis-cli -n 1 FLUSHDB", "echo flushall | redis-cli",
				"sudo -u postgres dropdb x", "Q='DROP TABLE t'; psql -c \"$Q\"", "docker exec d psql -c 'drop table t'",
				"kubectl exec p -- psql -c 'drop table t'", "rake db:drop", "nats stream purge S"},
			[]string{"psql -c 'select 1'", "psql -c 'delete from t where id=1'", "psql -c \"insert into l values ('; drop table t')\"",
				"psql -c 'select 1 -- drop table t'", "mysql -e 'update t set a=1 where b=2'", "grep 'DROP TABLE' x.sql", "git commit -m 'drop table'",
				"redis-cli get flushall_count", "mongosh --eval 'db.c.find({})'", "cat x.sql"},
		},
		touch.VolumeLoss: {
			[]string{"docker volume rm v", "docker system prune -af", "docker compose down -v", "docker-compose down --volumes",
				"podman volume prune", "docker exec c rm -rf /data", "docker exec c sh -c 'rm -rf /data' --help", "vagrant destroy -f",
				"kubectl exec p -- rm -rf /"},
			[]string{"docker rm c", "docker compose down", "docker volume ls", "docker run --rm -v /srv/x:/x a ls", "docker build -t x ."},
		},
		touch.BackupLoss: {[]string{"restic forget --prune", "borg delete r::a", "vssadmin delete shadows /all"},
			[]string{"restic backup x", "borg list", "restic forget --dry-run x"}},
		touch.Persistence: {[]string{"crontab f", "echo x | crontab -", "crontab -r", "git config --global core.hooksPath /tmp/x",
			"git config alias.st '!sh x'"}, []string{"crontab -l", "git config user.name x", "git config alias.st status"}},
	} {
		for _, line := range tc.does {
			got := shell(t, line)
			require.True(t, slices.ContainsFunc(got.Doubts, func(d touch.Danger) bool { return d.Code == code && d.Arg == "command" }), "%s: %v",
				line, got.Doubts)
			require.Contains(t, touch.DoubtCodes(), code)
		}
		for _, line := range tc.near {
			got := shell(t, line)
			require.Empty(t, got.Doubts, line)
			require.Empty(t, got.Dangers, line)
		}
	}
}
