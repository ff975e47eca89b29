package touch_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// The host of a URL is found behind every trick, in an argument and in a
// command line.
func TestHostTricks(t *testing.T) {
	s := skill(t, skills.Read)
	for _, raw := range []string{
		"http://169.254.169.254/", "http://good.example@169.254.169.254/", "http://169.254.169.254\\@good.example/",
		"http://good.example\\@169.254.169.254/", "http://a@b@169.254.169.254/", "http://169.254.\t169.254/", "https:169.254.169.254",
		"http:/169.254.169.254",
		"//169.254.169.254/x", "169.254.169.254/latest", "HTTP://2852039166", "http://user:pw@[::ffff:a9fe:a9fe]:80/",
		"https://good.example/?u=http://169.254.169.254/", "gopher://169.254.169.254:80/_x",
	} {
		got := touch.Of(s, map[string]any{"url": raw}, env())
		require.True(t, reaches(got, touch.Metadata), "%s: %v", raw, got.Hosts)
	}
	for _, raw := range []string{"see http://169.254.169.254/ please", "169.254.169.254", "http://metadata.google.internal./x"} {
		require.True(t, reaches(touch.Of(s, map[string]any{"note": raw}, env()), touch.Metadata), raw)
	}
	for _, raw := range []string{"http://169.254.169.254/", "169.254.169.254"} {
		require.Empty(t, touch.Of(s, map[string]any{"body": raw}, env()).Hosts, "content is data")
	}
	for _, line := range []string{
		"curl http://169.254.169.254/", "curl 2852039166", "wget -qO- 169.254.169.254/x", "nc 169.254.169.254 80",
		"cat < /dev/tcp/169.254.169.254/80", "exec 3<>/dev/tcp/169.254.169.254/80",
		"H=169.254.169.254; curl http://$H/", "curl -x http://169.254.169.254 http://a.example",
		"python3 -c \"urlopen('http://169.254.169.254/')\"", "ssh root@169.254.169.254", "tool --url=http://169.254.169.254/",
	} {
		require.True(t, reaches(shell(t, line), touch.Metadata), line)
	}
	for _, line := range []string{"echo http://a.example", "curl --max-time 30 https://a.example", "grep 169.254.169.254 x"} {
		require.False(t, reaches(shell(t, line), touch.Metadata), line)
	}
}

func reaches(t touch.Touch, z touch.Zone) bool {
	for _, h := range t.Hosts {
		if h.Zone == z {
			return true
		}
	}
	return false
}

// Whatever a host or URL holds, its name is stable, and nothing panics.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"http://a@b:80/x?y#z", "//[::1%25lo]:1", "0x7f.1", "http:\\\\a\\@b", "%31.1.1.1", "https://①.②/", "....", "[",
		"http://[", "a://b://c", "010.1", "999999999999999999999", "x-1-2-3-4.nip.io"} {
		f.Add(s)
	}
	s := skill(f, skills.Read)
	f.Fuzz(func(t *testing.T, raw string) {
		name, zone := touch.ParseHost(raw)
		if again, z := touch.ParseHost(name); name != "" && !strings.ContainsAny(raw, "%[]") && utf8.ValidString(raw) {
			require.Equal(t, name, again, "%q", raw)
			require.LessOrEqual(t, z, zone, "%q", raw)
		}
		for _, h := range touch.Of(s, map[string]any{"url": raw, "note": raw, "command": "curl " + raw}, env()).Hosts {
			require.NotEmpty(t, h.Name)
			require.False(t, h.Inside && h.Zone == touch.Open, "%q", raw)
		}
	})
}

// A metadata service is found among the operands of clients with forms of their
// own, in lists, proxies and whole strings of programs; in text it is data.
func TestDialled(t *testing.T) {
	for _, line := range []string{
		"socat - TCP:169.254.169.254:80", "openssl s_client -connect 169.254.169.254:443", "ssh -L 80:169.254.169.254:80 h",
		"lynx -dump 169.254.169.254", "echo http://169.254.169.254 | wget -i -", "curl -K <(echo 'url=http://169.254.169.254/')",
		"http_proxy=http://169.254.169.254 curl http://a.example", `python3 -c 'import socket;socket.create_connection(("169.254.169.254",80))'`,
		`node -e 'require("http").get({host:"169.254.169.254"})'`, "pwsh -c 'irm 169.254.169.254'", "ec2-metadata", "go get 169.254.169.254/a",
	} {
		require.True(t, reaches(shell(t, line), touch.Metadata), line)
	}
	for _, line := range []string{
		"socat - TCP:a.example:80", "ssh -L 80:localhost:80 h", "grep -rn 169.254.169.254 .", "iptables -A OUTPUT -d 169.254.169.254 -j DROP",
		`python3 -c 'print("169.254.169.254")'`, "ec2-metadata --help", "echo 169.254.169.254", "docker run a echo 169.254.169.254",
	} {
		require.False(t, reaches(shell(t, line), touch.Metadata), line)
	}
	url := func(u string) touch.Touch { return of(t, `{"url":"`+u+`"}`) }
	for _, u := range []string{"http:///169.254.169.254/", "jar:http://169.254.169.254!/", "http://169.254.169.254;a.example/",
		"http://a9fea9fe.7f000001.rbndr.us/", "https://a.example/?u=http%3A%2F%2F169.254.169.254%2F"} {
		require.True(t, reaches(url(u), touch.Metadata), u)
	}
	for _, u := range []string{"https://a.example/a;b,c", "https://a.example/?u=https%3A%2F%2Fb.example%2F", "https://a.example//b"} {
		require.False(t, reaches(url(u), touch.Metadata), u)
	}
}
