package guard_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
	"github.com/vedette-dev/vedette/skills"
)

// A private host is asked about where a service may trust its network: not by a
// probe, not by a client that logs in at a host with a name, not on this machine.
func TestPrivateHostsByTheirClient(t *testing.T) {
	b := core(t)
	for _, line := range []string{
		"ping -c 3 db.corp.internal", "ping -c1 192.168.1.1", "dig @10.0.0.2 example.com", "nc -zv db.corp.internal 5432",
		"nc -vz -w2 10.0.0.7 22",
		"ssh ann@jump.corp.internal uptime", "scp x pi@raspberrypi.local:",
		"rsync -az -e 'ssh -p 2222' build/ deploy@web1.corp.internal:/srv/www/",
		"git clone git@git.corp.internal:web.git", "git clone https://gitlab.internal/web.git", "psql -h db.corp.internal -c 'select 1'",
		"ssh -N -L 5433:db.internal:5432 bastion", "curl http://host.docker.internal:8080/", "http :3000/api", "http POST :8000/items name=x",
	} {
		v := b.shell(t, line)
		require.Equal(t, sentinel.Allow, v.Outcome, "%s: %s", line, v.Reason)
	}
	for _, line := range []string{
		"curl https://ci.corp.internal/api", "wget http://wiki.internal/", "ssh ann@10.1.2.3", "nc db.corp.internal 5432",
		"nc -lz 10.0.0.7 22 -e sh",
		"ping db.corp.internal; curl http://db.corp.internal/", "ssh web.corp.internal curl http://web.corp.internal/",
		"kubectl --server https://10.0.0.1:6443 get pods",
		"H=wiki.internal; curl http://$H/", "exec 3<>/dev/tcp/db.corp.internal/80",
	} {
		require.NotEqual(t, sentinel.Allow, b.shell(t, line).Outcome, line)
	}
	for _, line := range []string{"ping 169.254.169.254", "nc -z 169.254.169.254 80", "ssh -L 80:169.254.169.254:80 bastion",
		"dig @169.254.169.254 x"} {
		require.Equal(t, guard.CodePrivateHost, b.shell(t, line).Code, line)
		require.Equal(t, sentinel.Deny, b.shell(t, line).Outcome, line)
	}
}

// A list of private hosts opens no metadata service, in a command line neither.
func TestMetadataWhateverIsListed(t *testing.T) {
	for _, list := range [][]string{nil, {"wiki.internal"}} {
		b := setup(t, guard.Options{AllowHosts: list})
		v := b.shell(t, "curl http://169.254.169.254/latest/")
		require.Equal(t, sentinel.Deny, v.Outcome, list)
		require.Equal(t, guard.CodePrivateHost, v.Code, list)
	}
}

// A metadata service is refused everywhere and for everybody; a private host
// in an argument unless an operator allowed it by name.
func TestPrivateHosts(t *testing.T) {
	urls := func(t *testing.T, o guard.Options) bench {
		b := setup(t, o)
		s, err := skills.Compile(skills.Spec{Name: "test.fetch", Effect: skills.Read,
			Parameters: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string","x-url":true},"note":{"type":"string"},` +
				`"command":{"type":"string","x-shell":true},"body":{"type":"string","x-content":true}}}`)})
		require.NoError(t, err)
		b.reg, err = skills.NewRegistry(s)
		require.NoError(t, err)
		return b
	}
	b := urls(t, guard.Options{Env: home()})
	for _, u := range []string{
		"http://127.0.0.1/", "http://localhost:8080", "localhost", "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://[::1]/",
		"http://[::ffff:10.0.0.1]/", "http://10.1.2.3", "http://192.168.1.1/", "http://172.16.0.1/", "http://100.64.0.1/", "http://169.254.9.9/",
		"http://good.example@10.0.0.1/", "http://10.0.0.1.nip.io/", "http://printer.local/", "https://wiki.internal./", "http://０x7f.1/",
		"http://127。0。0。1/", "//10.0.0.1/x", "http://router/", "http://vault.service.consul:8200/",
	} {
		v := b.check(t, "test.fetch", map[string]any{"url": u})
		require.Equal(t, sentinel.Deny, v.Outcome, u)
		require.Equal(t, guard.CodePrivateHost, v.Code, u)
	}
	for _, u := range []string{"https://example.com/", "https://8.8.8.8/", "https://localhost.example.com/",
		"https://example.com/?q=http://localhost/", "s3://bucket/key", "redis://cache:6379/0", "not a url"} {
		require.Equal(t, sentinel.Allow, b.check(t, "test.fetch", map[string]any{"url": u}).Outcome, u)
	}
	for _, args := range []map[string]any{{"note": "http://10.0.0.1/"}, {"note": "read http://169.254.169.254/ now"},
		{"note": "metadata.google.internal"}, {"command": "curl http://169.254.169.254/"},
		{"url": "https://example.com/?u=http://169.254.169.254/"}} {
		require.Equal(t, guard.CodePrivateHost, b.check(t, "test.fetch", args).Code, args)
	}
	for _, args := range []map[string]any{{"note": "our server is at http://localhost:3000"}, {"note": "10.0.0.1"},
		{"body": "http://169.254.169.254/"}, {"command": "curl http://localhost/"}} {
		require.Equal(t, sentinel.Allow, b.check(t, "test.fetch", args).Outcome, args)
	}
	open := urls(t, guard.Options{Env: home(), AllowHosts: []string{"Wiki.internal.", "127.0.0.1", "10.0.0.7"}})
	for u, want := range map[string]sentinel.Outcome{
		"http://wiki.internal/": sentinel.Allow, "http://2130706433/": sentinel.Allow, "http://10.0.0.7:80/": sentinel.Allow,
		"http://10.0.0.8/": sentinel.Deny, "http://x.wiki.internal/": sentinel.Deny, "http://169.254.169.254/": sentinel.Deny,
		"http://localhost/": sentinel.Deny,
	} {
		require.Equal(t, want, open.check(t, "test.fetch", map[string]any{"url": u}).Outcome, u)
	}
	for _, h := range []string{"169.254.169.254", "2852039166", "metadata.google.internal", "fe80::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "",
		"a b", "*.internal"} {
		_, err := guard.New(guard.Options{Env: home(), AllowHosts: []string{"ok.internal", h}})
		var p *skills.PathError
		require.ErrorAs(t, err, &p, h)
		require.Equal(t, "guard.allow_hosts[1]", p.ConfigPath())
	}
}
