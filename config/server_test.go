package config_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// A server that few operators mean is refused, with its place and what to write.
func TestServerMistakes(t *testing.T) {
	for name, c := range map[string]struct{ yaml, want string }{
		"from elsewhere in the open": {"server: {listen: '0.0.0.0:8420', public_url: 'https://v.example.com'}",
			"v.yaml:2:18: server.listen is reached from other machines, and tokens would go there in the open; " +
				"write tls: {cert: …, key: …}, or proxies: [NETWORK] where a proxy ends TLS, or listen on 127.0.0.1"},
		"every interface": {"server: {listen: ':8420', public_url: 'https://v.example.com', proxies: []}",
			"v.yaml:2:73: server.proxies is an empty list, which means nothing; remove the key or name some"},
		"without a name": {"server: {listen: '10.0.0.1:443', tls: {cert: c.pem, key: k.pem}}",
			"v.yaml:2:18: server.public_url is missing: a server that is reached from other machines must know its name; " +
				"write public_url: https://vedette.example.com"},
		"half a certificate": {"server: {tls: {cert: c.pem}}",
			"v.yaml:2:15: server.tls.key is missing; a certificate needs its file and its key's"},
		"name in the open": {"server: {public_url: 'http://v.example.com'}",
			"v.yaml:2:22: server.public_url must begin with https://: tokens would go over the network in the open"},
		"name with a path": {"server: {public_url: 'https://v.example.com/a'}",
			"v.yaml:2:22: server.public_url must have no user, path, query or fragment, such as https://vedette.example.com"},
		"no name": {"server: {public_url: 'v.example.com'}",
			"v.yaml:2:22: server.public_url must be an address such as https://vedette.example.com"},
		"everybody is a proxy": {"server: {proxies: ['0.0.0.0/0']}",
			`v.yaml:2:20: server.proxies[0] must be a network such as 10.0.0.0/8, or one address, not "0.0.0.0/0"`},
		"host": {"server: {hosts: ['http://a']}",
			`v.yaml:2:18: server.hosts[0] must be a host such as vedette.internal, with a port or without, not "http://a"`},
		"scope": {"server: {auth: {oidc: {issuer: 'https://i', audience: v, scopes: [chats]}}}",
			`v.yaml:2:67: server.auth.oidc.scopes[0] must be one of chat, check, call, approve, review, values, label, admin, act_as, ` +
				`not "chats"; did you mean "chat"?`},
		"issuer in the open": {"server: {auth: {oidc: {issuer: 'http://i.example.com', audience: v, scopes: [chat]}}}",
			"v.yaml:2:32: server.auth.oidc.issuer must be an https address, or http on this machine, without user and query"},
		"no audience": {"server: {auth: {oidc: {issuer: 'https://i', scopes: [chat]}}}", "v.yaml:2:23: server.auth.oidc.audience is missing"},
		"no right": {"server: {auth: {oidc: {issuer: 'https://i', audience: v}}}",
			"v.yaml:2:23: server.auth.oidc says nowhere what its users may do; write groups: [{group: staff, scopes: [chat]}], or scopes: [chat]"},
		"group twice": {"server: {auth: {oidc: {issuer: 'https://i', audience: v, groups: [{group: a, scopes: [chat]}, {group: a, scopes: " +
			"[admin]}]}}}",
			`v.yaml:2:95: server.auth.oidc.groups names the group "a" twice`},
		"no client": {"server: {auth: {oidc: {issuer: 'https://i', audience: v, scopes: [chat], sign_in: {only: true}}}}",
			"v.yaml:2:83: server.auth.oidc.sign_in.client_id is missing: the issuer knows the server by it"},
		"two secrets": {"server: {auth: {oidc: {issuer: 'https://i', audience: v, scopes: [chat], sign_in: {client_id: p, " +
			"client_secret: a, client_secret_file: b}}}}",
			"v.yaml:2:136: server.auth.oidc.sign_in has client_secret and client_secret_file; write one of them"},
		"typo": {"server: {limits: {bdy: 3}}", `v.yaml:2:19: unknown key "bdy"; did you mean "body"?`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("v.yaml", []byte("version: 1\n"+c.yaml), config.Options{})
			require.EqualError(t, err, c.want)
		})
	}
}

// What is right is taken, with its defaults and with absolute paths.
func TestServer(t *testing.T) {
	c, err := config.Parse("/etc/v/v.yaml", []byte(`version: 1
server:
  listen: '0.0.0.0:8443'
  public_url: https://v.example.com
  hosts: [v.internal, '10.0.0.5:8443', 'fd00::1']
  tls: {cert: tls/c.pem, key: tls/k.pem}
  proxies: [10.0.0.0/8, 192.168.1.1, 'fd00::/8']
`), config.Options{})
	require.NoError(t, err)
	require.False(t, c.Server.IsLoopback())
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.168.1.1/32"),
		netip.MustParsePrefix("fd00::/8")},
		c.Server.ProxyNetworks())
	require.Contains(t, c.Server.SecretFiles()[0], "tls/k.pem")
	require.Equal(t, byte('/'), c.Server.TLS.Cert[0])
	require.Equal(t, 600, c.Server.Limits.PerMinute)
	for listen, want := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, ":1": false, "10.0.0.1:1": false} {
		require.Equal(t, want, config.Server{Listen: listen}.IsLoopback(), listen)
	}
	require.Empty(t, config.Default().Server.SecretFiles())
}
