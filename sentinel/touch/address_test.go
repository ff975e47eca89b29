package touch_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// Every spelling of an address has one name and one zone.
func TestParseHost(t *testing.T) {
	for name, tc := range map[string]struct {
		zone   touch.Zone
		spelt  []string
		nearby []string
	}{
		"169.254.169.254": {touch.Metadata, []string{
			"169.254.169.254", "169.254.169.254.", "2852039166", "0xA9FEA9FE", "0xa9.0xfe.0xa9.0xfe", "0251.0376.0251.0376", "025177524776", "169.254.43518", "169.16689662",
			"[::ffff:169.254.169.254]", "::ffff:a9fe:a9fe", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "::169.254.169.254", "①⑥⑨.②⑤④.①⑥⑨.②⑤④", "１６９.２５４.１６９.２５４", "169。254。169。254", "%31%36%39.254.169.254", "fe80::1%25eth0",
		}, []string{"169.254.169.2540", "168.63.129.17", "a169.254.169.254.example.com", "8.8.8.8"}},
		"127.0.0.1": {touch.Loopback, []string{"127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]"}, []string{"128.0.0.1", "12.7.0.1", "127.0.0.1.example.com"}},
	} {
		for _, s := range tc.spelt {
			got, zone := touch.ParseHost(s)
			if s == "fe80::1%25eth0" {
				require.Equal(t, touch.Private, zone)
				continue
			}
			require.Equal(t, tc.zone, zone, s)
			if zone != touch.Metadata || len(s) < 16 && s[0] != '6' && s[0] != ':' && s[0] != '2' {
				require.Equal(t, name, got, s)
			}
		}
		for _, s := range tc.nearby {
			_, zone := touch.ParseHost(s)
			require.Equal(t, touch.Open, zone, s)
		}
	}
	for s, want := range map[string]touch.Zone{
		"localhost": touch.Loopback, "LOCALHOST.": touch.Loopback, "app.localhost": touch.Loopback, "0.0.0.0": touch.Loopback, "[::]": touch.Loopback, "::1": touch.Loopback, "localtest.me": touch.Loopback,
		"10.0.0.1": touch.Private, "010.0.0.1": touch.Private, "172.16.9.9": touch.Private, "192.168.0.1": touch.Private, "100.64.0.1": touch.Private, "169.254.1.1": touch.Private, "fd12::1": touch.Private,
		"fe80::1": touch.Private, "224.0.0.1": touch.Private, "198.18.0.1": touch.Private, "printer.local": touch.Private, "wiki.internal": touch.Private, "10.0.0.1.nip.io": touch.Private, "app-127-0-0-1.sslip.io": touch.Loopback,
		"a9fea9fe.nip.io": touch.Metadata, "metadata.google.internal": touch.Metadata, "METADATA.google.internal.": touch.Metadata, "fd00:ec2::254": touch.Metadata, "100.100.100.200": touch.Metadata,
		"example.com": touch.Open, "172.32.0.1": touch.Open, "100.128.0.1": touch.Open, "internal.example.com": touch.Open, "localhost.example.com": touch.Open, "2606:4700::1": touch.Open, "1.2.3": touch.Open, "": touch.Open, "xn--caf-dma.example": touch.Open, "0x": touch.Open, "1_0.0.0.1": touch.Open,
	} {
		_, zone := touch.ParseHost(s)
		require.Equal(t, want, zone, s)
	}
}

// IPv6 spells a metadata service's address in more ways than one.
func TestMetadataInIPv6(t *testing.T) {
	for _, s := range []string{
		"fe80::a9fe:a9fe", "[fe80::a9fe:a9fe%25eth0]", "64:ff9b:1::a9fe:a9fe", "fe80::5efe:a9fe:a9fe", "2a00:1450::200:5efe:a9fe:a9fe", "2001:0:a9fe:a9fe::1",
		"2001:0:808:808:0:0:5601:5601", "64:ff9b:1:a9fe:a9:fe00::",
	} {
		_, zone := touch.ParseHost(s)
		require.Equal(t, touch.Metadata, zone, s)
	}
}

// However an IPv4 address is written, its zone is that of the address.
func TestAddressSpellings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Uint32().Draw(t, "address")
		name, zone := touch.ParseHost(spellAddress(a, 0))
		for form := 1; form < 6; form++ {
			s := spellAddress(a, form)
			n, z := touch.ParseHost(s)
			require.Equal(t, zone, z, s)
			require.Equal(t, name, n, s)
		}
	})
}

// The host of a URL is found behind every trick, in an argument and in a
// command line.
func TestHostTricks(t *testing.T) {
	s := skill(t, skills.Read)
	for _, raw := range []string{
		"http://169.254.169.254/", "http://good.example@169.254.169.254/", "http://169.254.169.254\\@good.example/", "http://good.example\\@169.254.169.254/", "http://a@b@169.254.169.254/", "http://169.254.\t169.254/", "https:169.254.169.254", "http:/169.254.169.254",
		"//169.254.169.254/x", "169.254.169.254/latest", "HTTP://2852039166", "http://user:pw@[::ffff:a9fe:a9fe]:80/", "https://good.example/?u=http://169.254.169.254/", "gopher://169.254.169.254:80/_x",
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
		"curl http://169.254.169.254/", "curl 2852039166", "wget -qO- 169.254.169.254/x", "nc 169.254.169.254 80", "cat < /dev/tcp/169.254.169.254/80", "exec 3<>/dev/tcp/169.254.169.254/80",
		"H=169.254.169.254; curl http://$H/", "curl -x http://169.254.169.254 http://a.example", "python3 -c \"urlopen('http://169.254.169.254/')\"", "ssh root@169.254.169.254", "tool --url=http://169.254.169.254/",
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

func spellAddress(a uint32, form int) string {
	b := [4]uint32{a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255}
	switch form {
	case 1:
		return fmt.Sprint(a)
	case 2:
		return fmt.Sprintf("0x%x", a)
	case 3:
		return fmt.Sprintf("0x%X.%d", b[0], a&0xffffff)
	case 4:
		return fmt.Sprintf("[::ffff:%x:%x]", a>>16, a&0xffff)
	case 5:
		return fmt.Sprintf("%d.%d.%d.", b[0], b[1], a&0xffff)
	}
	return fmt.Sprintf("%d.%d.%d.%d", b[0], b[1], b[2], b[3])
}

// Whatever a host or URL holds, its name is stable, and nothing panics.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"http://a@b:80/x?y#z", "//[::1%25lo]:1", "0x7f.1", "http:\\\\a\\@b", "%31.1.1.1", "https://①.②/", "....", "[", "http://[", "a://b://c", "010.1", "999999999999999999999", "x-1-2-3-4.nip.io"} {
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
