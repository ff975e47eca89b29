package assembly_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
	runhttp "github.com/vedette-dev/vedette/skills/run/http"
)

// loopback is a server of this machine, the URL of it under another name, and
// how many requests came.
func loopback(t *testing.T, answer http.HandlerFunc) (addr func(host string) string, came *atomic.Int32) {
	t.Helper()
	came = &atomic.Int32{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came.Add(1)
		answer(w, r)
	}))
	t.Cleanup(srv.Close)
	port := srv.URL[strings.LastIndexByte(srv.URL, ':'):]
	return func(host string) string { return "http://" + host + port + "/send" }, came
}

// calling is a configuration with one skill that posts to url.
func calling(t *testing.T, url, host, extra string) string {
	t.Helper()
	file := write(t, extra)
	text := skillsYAML +
		"  - name: mail.send\n    effect: create\n    parameters: {type: object, properties: {to: {type: string}, url: {type: string, x-url: " +
		"true}}}\n" +
		"    run: {http: {url: \"" + url + "\", allow_hosts: [\"" + host + "\"]}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "skills.yaml"), []byte(text), 0o600))
	return file
}

func answers(list ...string) func(context.Context, string) ([]netip.Addr, error) {
	n := 0
	return func(context.Context, string) ([]netip.Addr, error) {
		a := netip.MustParseAddr(list[min(n, len(list)-1)])
		n++
		return []netip.Addr{a}, nil
	}
}

// What guard.allow_hosts names is reached, by its name or its address; without
// it nothing is sent, and an operator's own private URL needs no permission.
func TestAllowHosts(t *testing.T) {
	for name, tc := range map[string]struct {
		host, extra string
		answers     []string
		reached     bool
	}{
		"a public name for a private place": {"wiki.example.com", "", []string{"127.0.0.1"}, false},
		"allowed by its name": {"wiki.example.com", "guard: {allow_hosts: [\"WIKI.example.com.\"]}\n", []string{"127.0.0.1"},
			true},
		"allowed by its address": {"wiki.example.com", "guard: {allow_hosts: [\"0x7f.0.0.1\"]}\n", []string{"127.0.0.1"}, true},
		"another one is allowed": {"wiki.example.com", "guard: {allow_hosts: [\"10.0.0.7\", \"files.example.com\"]}\n",
			[]string{"127.0.0.1"}, false},
		"an operator's own private name":    {"mail.internal", "", []string{"127.0.0.1"}, true},
		"an operator's own private address": {"127.0.0.1", "", []string{"10.0.0.1"}, true},
		"that turns to a metadata service":  {"mail.internal", "", []string{"169.254.169.254"}, false},
		"allowed, and turns to a metadata": {"wiki.example.com", "guard: {allow_hosts: [\"wiki.example.com\"]}\n", []string{"fd00:ec2::254"},
			false},
		"allowed, and turns to one in IPv6": {"wiki.example.com", "guard: {allow_hosts: [\"wiki.example.com\"]}\n",
			[]string{"64:ff9b::a9fe:a9fe"}, false},
		"the first answer is what was asked": {"wiki.example.com", "", []string{"127.0.0.1", "8.8.8.8"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			at, came := loopback(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("sent")) })
			p := build(t, calling(t, at(tc.host), tc.host, tc.extra), assembly.Options{Lookup: answers(tc.answers...)})
			res, err := p.Checkpoint.Desk(grant(t, "mail ann", "mail.send")).Invoke(t.Context(), "mail.send", json.RawMessage(`{"to":"ann"}`))
			if tc.reached {
				require.NoError(t, err)
				require.Equal(t, "sent", res.Content)
				require.EqualValues(t, 1, came.Load())
				return
			}
			require.ErrorIs(t, err, runhttp.ErrPrivate)
			require.Zero(t, came.Load())
		})
	}
}

// A redirect is an answer and no way on, least of all to this machine.
func TestRedirectsToThisMachine(t *testing.T) {
	inside, came := loopback(t, func(http.ResponseWriter, *http.Request) {})
	at, _ := loopback(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inside("127.0.0.1"), http.StatusTemporaryRedirect)
	})
	p := build(t, calling(t, at("wiki.example.com"), "wiki.example.com", "guard: {allow_hosts: [wiki.example.com]}\n"),
		assembly.Options{Lookup: answers("127.0.0.1")})
	_, err := p.Checkpoint.Desk(grant(t, "mail ann", "mail.send")).Invoke(t.Context(), "mail.send", json.RawMessage(`{"to":"ann"}`))
	var status *runhttp.StatusError
	require.ErrorAs(t, err, &status)
	require.Equal(t, http.StatusTemporaryRedirect, status.Status)
	require.Zero(t, came.Load())
}

// The guard lets an argument name what the configuration allows, and no more.
func TestAllowHostsInArguments(t *testing.T) {
	for extra, want := range map[string]sentinel.Outcome{"": sentinel.Deny,
		"guard: {allow_hosts: [wiki.internal]}\njudge: {threshold: 0, ask_below: 0}\n": sentinel.Allow} {
		d, err := assembly.NewDecider(load(t, calling(t, "https://mail.internal/send", "mail.internal", extra)), assembly.DeciderOptions{})
		require.NoError(t, err)
		for url, o := range map[string]sentinel.Outcome{"https://wiki.internal/x": want, "https://other.internal/": sentinel.Deny,
			"http://169.254.169.254/": sentinel.Deny} {
			raw, err := json.Marshal(map[string]string{"url": url})
			require.NoError(t, err)
			c, err := d.NewCall(sentinel.Proposal{Skill: "mail.send", Args: raw, Grant: grant(t, "mail it to "+url, "mail.send")})
			require.NoError(t, err)
			got, err := d.Decide(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, o, got.Outcome, url)
			if o == sentinel.Deny {
				require.Equal(t, guard.CodePrivateHost, got.Code, url)
			}
		}
		d.Close()
	}
}

// A bad entry is an error at its place that says why.
func TestAllowHostsMistakes(t *testing.T) {
	for entry, want := range map[string]string{
		"169.254.169.254":          "hands out this machine's credentials; it is never allowed",
		"0xa9fea9fe":               "hands out this machine's credentials; it is never allowed",
		"metadata.google.internal": "hands out this machine's credentials; it is never allowed",
		"fd00:ec2::254":            "hands out this machine's credentials; it is never allowed",
		"http://wiki.internal/":    "must be the name or address of one host",
		"*.internal":               "must be the name or address of one host",
		"10.0.0.0/8":               "must be the name or address of one host",
		"wiki.internal:8080":       "must be a host without a port",
	} {
		_, err := assembly.NewDecider(load(t, write(t, "guard:\n  allow_hosts:\n    - 10.0.0.7\n    - \""+entry+"\"\n")),
			assembly.DeciderOptions{})
		require.ErrorContains(t, err, "vedette.yaml:7:7: guard.allow_hosts[1]", entry)
		require.ErrorContains(t, err, want, entry)
	}
	for _, url := range []string{"https://169.254.169.254/x", "https://metadata.google.internal/x"} {
		require.ErrorContains(t, assembly.Check(load(t, calling(t, url, "x", ""))), "hands out this machine's credentials", url)
	}
}
