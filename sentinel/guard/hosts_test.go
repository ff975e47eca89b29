package guard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
)

// A private host is asked about where a service may trust its network: not by a
// probe, not by a client that logs in at a host with a name, not on this machine.
func TestPrivateHostsByTheirClient(t *testing.T) {
	b := core(t)
	for _, line := range []string{
		"ping -c 3 db.corp.internal", "ping -c1 192.168.1.1", "dig @10.0.0.2 example.com", "nc -zv db.corp.internal 5432", "nc -vz -w2 10.0.0.7 22",
		"ssh ann@jump.corp.internal uptime", "scp x pi@raspberrypi.local:", "rsync -az -e 'ssh -p 2222' build/ deploy@web1.corp.internal:/srv/www/",
		"git clone git@git.corp.internal:web.git", "git clone https://gitlab.internal/web.git", "psql -h db.corp.internal -c 'select 1'",
		"ssh -N -L 5433:db.internal:5432 bastion", "curl http://host.docker.internal:8080/", "http :3000/api", "http POST :8000/items name=x",
	} {
		v := b.shell(t, line)
		require.Equal(t, sentinel.Allow, v.Outcome, "%s: %s", line, v.Reason)
	}
	for _, line := range []string{
		"curl https://ci.corp.internal/api", "wget http://wiki.internal/", "ssh ann@10.1.2.3", "nc db.corp.internal 5432", "nc -lz 10.0.0.7 22 -e sh",
		"ping db.corp.internal; curl http://db.corp.internal/", "ssh web.corp.internal curl http://web.corp.internal/", "kubectl --server https://10.0.0.1:6443 get pods",
		"H=wiki.internal; curl http://$H/", "exec 3<>/dev/tcp/db.corp.internal/80",
	} {
		require.NotEqual(t, sentinel.Allow, b.shell(t, line).Outcome, line)
	}
	for _, line := range []string{"ping 169.254.169.254", "nc -z 169.254.169.254 80", "ssh -L 80:169.254.169.254:80 bastion", "dig @169.254.169.254 x"} {
		require.Equal(t, guard.CodePrivateHost, b.shell(t, line).Code, line)
		require.Equal(t, sentinel.Deny, b.shell(t, line).Outcome, line)
	}
}
