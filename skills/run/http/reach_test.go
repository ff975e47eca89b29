package http

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

// Which addresses a skill may connect to follows from its url's host, its own list and the
// shared one. A metadata service is in no skill's reach.
func TestReach(t *testing.T) {
	for name, tc := range map[string]struct {
		host   string
		own    hosts
		shared []string
		to     map[string]bool
	}{
		"a public name": {"api.example.com", hosts{}, nil, map[string]bool{"8.8.8.8": true, "10.0.0.7": false, "127.0.0.1": false}},
		"a private name": {"mail.internal", hosts{}, nil, map[string]bool{"8.8.8.8": true, "10.0.0.7": true, "169.254.169.254": false,
			"169.254.1.1": true}},
		"a name without a dot": {"mail", hosts{}, nil, map[string]bool{"10.0.0.7": true}},
		"a private address":    {"10.0.0.7", hosts{}, nil, map[string]bool{"10.0.0.7": true}},
		"none at all": {"mail.internal", hosts{none: true}, []string{"mail.internal"},
			map[string]bool{"10.0.0.7": false, "8.8.8.8": true}},
		"its own list":        {"api.example.com", hosts{list: []string{"API.example.com"}}, nil, map[string]bool{"10.0.0.7": true}},
		"another in its list": {"api.example.com", hosts{list: []string{"x.example.com"}}, nil, map[string]bool{"10.0.0.7": false}},
		"the shared list by name": {"api.example.com", hosts{}, []string{"api.example.com"},
			map[string]bool{"10.0.0.7": true, "168.63.129.16": false}},
		"the shared list's address": {"api.example.com", hosts{}, []string{"10.0.0.7"}, map[string]bool{"10.0.0.7": true, "::ffff:10.0.0.7": true,
			"10.0.0.8": false}},
		"a public metadata address": {"api.example.com", hosts{}, nil, map[string]bool{"168.63.129.16": false, "2002:a9fe:a9fe::": false,
			"::ffff:169.254.169.254": false, "fd00:ec2::254%eth0": false}},
	} {
		r := newReach(tc.host, tc.own, tc.shared)
		for a, want := range tc.to {
			require.Equal(t, want, r.mayConnect(netip.MustParseAddr(a)), "%s: %s", name, a)
		}
	}
	require.False(t, reach{}.mayConnect(netip.MustParseAddr("10.0.0.1")), "the zero value reaches what is public")
}

// To allow a metadata service is a mistake, and so is to go to one.
func TestMetadataIsNeverAllowed(t *testing.T) {
	kit := runtest.New(t)
	for at, o := range map[string]opts{
		"run.http.url":              {"url": "https://[fd00:ec2::254]/x"},
		"run.http.url: names":       {"url": "http://169.254.169.254/x"},
		"run.http.allow_hosts[0]":   {"url": "https://example.com/", "allow_hosts": []string{"169.254.169.254"}},
		"run.http.allow_private[1]": {"url": "https://example.com/", "allow_private": []string{"a.internal", "Metadata.google.internal."}},
	} {
		_, err := New(runtest.Compile(t, spec(o), nil), kit.Redeemer, Options{})
		require.ErrorContains(t, err, at)
		require.ErrorContains(t, err, "never allowed")
		require.ErrorContains(t, err, "names a metadata service")
	}
}

// A metadata service is refused however IPv6 spells its address. That holds for a skill that
// may connect to private hosts, too, and for the hook that sees the dialled address.
func TestMetadataIsRefusedInEveryForm(t *testing.T) {
	for _, s := range []string{
		"fe80::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "::ffff:169.254.169.254", "2002:a9fe:a9fe::", "fe80::5efe:a9fe:a9fe",
		"2001:0:808:808:0:0:5601:5601",
		"fe80::a9fe:a9fe%eth0", "64:ff9b::a9fe:a9fe", "::a9fe:a9fe",
	} {
		a := netip.MustParseAddr(s)
		r := reach{private: true, addrs: []netip.Addr{a}}
		require.False(t, r.mayConnect(a), s)
		require.True(t, isMetadataName("["+s+"]"), s)
		d := &dialer{may: r}
		require.ErrorIs(t, d.checkAddress("tcp6", netip.AddrPortFrom(a, 80).String(), nil), ErrPrivate, s)
	}
	require.True(t, reach{private: true}.mayConnect(netip.MustParseAddr("fe80::1")))
}
