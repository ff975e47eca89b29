package touch_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch"
)

// What a command changes beyond this machine's files is told by its kind, and
// what only shows changes nothing.
func TestChanges(t *testing.T) {
	for code, lines := range map[string][]string{
		touch.RemoteChange: {
			"curl -X POST https://a.example", "curl -d x=1 https://a.example", "curl -T f https://a.example", "wget --post-data=x https://a.example",
			"http POST a.example", "git push", "rsync -a x/ a.example:/x", "scp x a.example:", "rclone copy x r:y", "kubectl apply -f x",
			"kubectl scale deploy x --replicas=0",
			"terraform apply", "helm upgrade x y", "gh pr merge 3", "gh api -X PATCH repos/a/b", "npm publish", "aws s3 cp x s3://b",
			"aws ec2 run-instances", "gcloud run deploy x", "mail -s x a@b.example", "sudo -E env A=1 git push",
		},
		touch.RemoteRemoval: {"curl -X DELETE https://a.example/1", "curl --request=DELETE https://a.example/1", "git push --force",
			"git push -f origin main", "git push origin :x", "rsync -a --delete x/ a.example:/x", "rclone sync x r:y", "kubectl delete pod x",
			"aws s3 rm s3://b/k", "terraform destroy", "helm uninstall x", "gh release delete v1"},
		touch.SystemChange: {"systemctl stop nginx", "sudo systemctl restart x", "service x stop", "apt install x", "apt-get -y upgrade",
			"pip install x", "npm install", "useradd x", "passwd x", "shutdown -h now", "reboot", "iptables -F", "sysctl -w a=1", "crontab f",
			"ip link set eth0 down"},
		touch.SystemRemoval: {"apt purge x", "apt-get remove -y x", "dnf remove x", "dpkg -r x", "rpm -e x", "userdel -r x",
			"pip uninstall -y x", "brew uninstall x"},
		touch.ProcessChange:    {"kill 12", "kill -9 12", "pkill x", "killall x"},
		touch.ContainerChange:  {"docker run x", "docker stop c", "docker build .", "docker compose up -d"},
		touch.ContainerRemoval: {"docker rm c", "docker rmi i", "docker compose down", "docker ps -aq | xargs docker rm"},
		touch.HistoryChange:    {"git commit -m x", "git checkout x", "git reset HEAD~1", "git stash", "git tag v1"},
		touch.HistoryRemoval:   {"git clean -fd", "git reset --hard", "git branch -D x", "git stash drop"},
		touch.DatabaseChange: {"psql -c 'insert into t values (1)'", "mysql -e 'update t set a=1 where b=2'", "redis-cli set a 1",
			"mongosh --eval 'db.c.insertOne({})'", "echo 'create table t (a int)' | psql"},
	} {
		for _, line := range lines {
			got := shell(t, line).Changes
			require.True(t, slices.ContainsFunc(got, func(d touch.Danger) bool { return d.Code == code && d.Arg == "command" }), "%s: %s: %v", code,
				line, got)
			require.Contains(t, touch.ChangeCodes(), code)
		}
	}
	for _, line := range []string{
		"curl https://a.example", "curl -G -d x=1 https://a.example", "curl -I https://a.example", "wget https://a.example", "http a.example",
		"git status", "git log", "git diff", "git branch", "git branch -a", "git tag -l", "git stash list", "git remote -v", "rsync -a x/ y",
		"scp a.example:x .", "kubectl get pods",
		"kubectl logs x", "terraform plan", "helm list", "gh pr view 3", "gh pr list", "gh api repos/a/b", "aws s3 ls",
		"aws ec2 describe-instances", "gcloud projects list", "systemctl status x", "service x status", "apt list", "apt-cache search x",
		"pip list", "npm ls", "npm test", "docker ps", "docker logs c",
		"docker images", "kill -l", "kill -0 1", "crontab -l", "iptables -L", "ip addr", "sysctl a", "psql -c 'select 1'", "redis-cli get a",
		"mongosh --eval 'db.c.find()'", "echo git push", "grep 'apt install' x", "git push --dry-run", "go test ./...", "make", "ls",
		"cat x | wc -l",
	} {
		require.Empty(t, shell(t, line).Changes, line)
	}
	require.True(t, touch.Removes(touch.SystemRemoval))
	require.False(t, touch.Removes(touch.SystemChange))
}

// A file that a program prints without being told its name is read all the
// same.
func TestUnnamed(t *testing.T) {
	for line, file := range map[string]string{
		"getent shadow": "/etc/shadow", "gpg --export-secret-keys -a": "/home/alice/.gnupg/private-keys-v1.d",
		"git credential fill": "/home/alice/.git-credentials", "kubectl config view --raw": "/home/alice/.kube/config",
		"aws configure export-credentials": "/home/alice/.aws/credentials",
		"cd ~/.ssh; ls":                    "/home/alice/.ssh", "find /etc -name 'shad*' -exec cat {} +": "/etc/shad*",
		"locate id_rsa | xargs cat": "/id_rsa",
	} {
		require.True(t, accessTo(shell(t, line), file).Has(touch.Read), line)
	}
	for _, line := range []string{"getent hosts a", "gpg --export -a", "git credential approve", "kubectl config view", "aws configure list"} {
		for _, p := range shell(t, line).Paths {
			require.NotContains(t, p.Clean, "/.", line)
		}
	}
}
