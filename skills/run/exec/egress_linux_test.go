package exec

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
	"github.com/vedette-dev/vedette/skills/run/exec/egress"
)

// newFetcher runs a skill that fetches an address with curl. example.com is a server of
// this machine, which the operator has allowed.
func newFetcher(t *testing.T, o opts, argv ...string) (port string, run func(url string) (skills.Result, []egress.Connection, error)) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, "from "+r.Host) }))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	roots := filepath.Join(dir, "roots.pem")
	raw := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(roots, raw, 0o600))
	port = server.URL[strings.LastIndex(server.URL, ":")+1:]
	o["argv"] = append(append([]string{"curl", "-sS", "--max-time", "10", "--cacert", roots}, argv...), "{{a}}")
	o["env"], o["read"], o["egress"] = []string{"PATH"}, []string{dir}, []string{"example.com:" + port}
	kit, s := runtest.New(t), runtest.Compile(t, spec(o), nil)
	e, err := New(s, kit.Redeemer, Options{Dir: dir, AllowHosts: []string{"example.com"}, Lookup: func(context.Context,
		string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}})
	require.NoError(t, err)
	return port, func(url string) (skills.Result, []egress.Connection, error) {
		res, err := kit.Run(t, e, s, opts{"a": url})
		var list []egress.Connection
		require.NotNil(t, res.Egress, "%v", err)
		require.NoError(t, json.Unmarshal(res.Egress.Details, &list))
		return res, list, err
	}
}

// A skill reaches the hosts that it lists, with the proxy's variables and without,
// and its result tells what it did there.
func TestEgress(t *testing.T) {
	for via, argv := range map[egress.Via][]string{egress.ViaProxy: nil, egress.ViaDirect: {"--noproxy", "*"}} {
		port, run := newFetcher(t, opts{"isolation": "full"}, argv...)
		res, list, err := run("https://example.com:" + port + "/")
		require.NoError(t, err)
		require.Equal(t, "from example.com:"+port, res.Content)
		require.Equal(t, GradeFull, res.Isolation)
		require.Len(t, list, 1)
		require.Equal(t, via, list[0].Via)
		require.Equal(t, egress.Connected, list[0].Outcome)
		require.Equal(t, "127.0.0.1:"+port, list[0].Address.String())
		want := skills.Egress{Connections: 1, BytesOut: list[0].Out, BytesIn: list[0].In, Details: res.Egress.Details}
		require.Equal(t, want, *res.Egress)
		require.Positive(t, want.BytesOut)
	}
}

// All else fails, and what was tried is told although the program failed.
func TestEgressRefuses(t *testing.T) {
	t.Parallel()
	for via, argv := range map[string][]string{"proxy": nil, "direct": {"--noproxy", "*"}} {
		port, run := newFetcher(t, opts{}, argv...)
		for url, want := range map[string]string{
			"https://other.test:" + port + "/":                 "proxy host_not_listed, dns host_not_listed",
			"https://8.8.8.8:" + port + "/":                    "proxy address_not_listed, direct address_not_listed",
			"https://example.com:1443/":                        "proxy port_not_listed, tcp port_not_listed",
			"http://169.254.169.254/latest/meta-data/":         "proxy metadata, tcp metadata",
			"https://[2606:4700::1111]:" + port + "/":          "proxy address_not_listed, direct address_not_listed",
			"http://metadata.google.internal/computeMetadata/": "proxy metadata, dns metadata",
		} {
			res, list, err := run(url)
			if via == "proxy" && strings.HasPrefix(url, "http:") {
				require.NoError(t, err) // curl prints the proxy's words
				require.Contains(t, res.Content, "the sandbox refuses this host or port")
			} else {
				var exit *ExitError
				require.ErrorAs(t, err, &exit, "%s: %q", url, res.Content)
			}
			require.NotEmpty(t, list, url)
			for _, c := range list {
				require.Contains(t, want, string(c.Via)+" "+string(c.Outcome), url)
			}
			require.Zero(t, res.Egress.Connections)
			require.Positive(t, res.Egress.Refused)
		}
	}
}

// A program without a list reaches nothing, and nothing is said of its network.
func TestNoEgress(t *testing.T) {
	res, err := run(t, opts{"argv": []string{"sh", "-c", "env; cat /etc/resolv.conf", "{{a}}"}, "env": []string{"PATH"}}, opts{"a": ""})
	require.NoError(t, err)
	require.Nil(t, res.Egress)
	require.NotContains(t, res.Content, "PROXY")
	require.NotContains(t, res.Content, "nameserver")
}

func TestEgressOptions(t *testing.T) {
	kit := runtest.New(t)
	for name, row := range map[string]struct {
		o    opts
		want []string
	}{
		"good": {opts{"egress": []string{"pypi.org:443", "*.example.com:443"}}, nil},
		"full": {opts{"egress": []string{"pypi.org:443"}, "isolation": "full"}, nil},
		"none": {opts{"egress": []string{}, "isolation": "none"}, nil},
		"entries": {opts{"egress": []string{"pypi.org", "pypi.org:443", "169.254.169.254:80"}},
			[]string{"run.exec.egress[0]", "run.exec.egress[2]"}},
		"private":           {opts{"egress": []string{"10.0.0.7:443", "10.0.0.8:443"}}, []string{"run.exec.egress[1]"}},
		"no sandbox":        {opts{"egress": []string{"pypi.org:443"}, "isolation": "none"}, []string{"run.exec.egress"}},
		"another grade":     {opts{"egress": []string{"pypi.org:443"}, "isolation": "landlock"}, []string{"run.exec.egress"}},
		"the whole network": {opts{"egress": []string{"pypi.org:443"}, "network": true}, []string{"run.exec.egress"}},
		"the proxy": {opts{"egress": []string{"pypi.org:443"}, "env": []string{"PATH", "https_proxy"}, "set_env": opts{"NO_PROXY": "*"}},
			[]string{"run.exec.env[1]", "run.exec.set_env.NO_PROXY"}},
		"a text": {opts{"egress": "pypi.org:443"}, []string{"run.exec.egress"}},
	} {
		row.o["argv"] = []string{"true"}
		_, err := New(runtest.Compile(t, spec(row.o), nil), kit.Redeemer, Options{Dir: t.TempDir(), AllowHosts: []string{"10.0.0.7"}})
		require.ElementsMatch(t, row.want, runtest.Paths(err), "%s: %v", name, err)
	}
}

// BenchmarkEgress is /bin/true under full, without hosts to reach and with them. The
// two take turns, so that they share what else this machine does.
func BenchmarkEgress(b *testing.B) {
	path, err := osexec.LookPath("true")
	require.NoError(b, err)
	start := func(list ...string) func() {
		p := &program{config: config{Argv: []string{path}, Stdin: "none", OutputLimit: defaultOutput, Isolation: IsolationFull,
			Dir: "/"}, path: path}
		p.Egress = list
		require.NoError(b, p.readEgress("egress", nil))
		return func() {
			r, err := p.startInWay(b.Context(), wayFull, p.Argv, environment{}, stdio{})
			require.NoError(b, err)
			require.NoError(b, r.explainEnd(b.Context(), r.awaitEnd()))
		}
	}
	rows := []func(){start(), start("example.com:443"), start("a.test:1", "a.test:2", "a.test:3", "a.test:4", "a.test:5",
		"a.test:6", "a.test:7", "a.test:8")}
	took := make([][]float64, len(rows))
	for b.Loop() {
		for i, run := range rows {
			began := time.Now()
			run()
			took[i] = append(took[i], float64(time.Since(began).Microseconds())/1000)
		}
	}
	for i, name := range []string{"full", "1-port", "8-ports"} {
		slices.Sort(took[i])
		b.ReportMetric(took[i][len(took[i])/2], name+"-p50-ms")
		b.ReportMetric(took[i][0], name+"-least-ms")
	}
}

// Tools of every day find listed hosts, with the proxy's variables and without them.
func TestToolsWithEgress(t *testing.T) {
	t.Parallel()
	site := t.TempDir()
	text := `git init -q -b main r; cd r; echo x > f; git add f; git -c user.name=n -c user.email=e@x commit -qm one; cd ..
git clone -q --bare r r.git; git -C r.git update-server-info; echo page > page`
	setUp := osexec.CommandContext(t.Context(), "bash", "-ec", text)
	setUp.Dir = site
	out, err := setUp.CombinedOutput()
	require.NoError(t, err, "%s", out)
	server := httptest.NewTLSServer(http.FileServer(http.Dir(site)))
	t.Cleanup(server.Close)
	roots := filepath.Join(site, "roots.pem")
	require.NoError(t, os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	host := "example.com" + server.URL[strings.LastIndex(server.URL, ":"):]
	for name, tool := range map[string]struct {
		program  string
		required bool
		text     string
		want     string
		direct   bool // it heeds no variables
	}{
		"git": {"git", true, `GIT_SSL_CAINFO=$2 git clone -q $1/r.git /tmp/c && git -C /tmp/c log --format=%s`, "one\n", false},
		"python": {"/usr/bin/python3", false, `SSL_CERT_FILE=$2 /usr/bin/python3 -c 'import sys, urllib.request as u; ` +
			`print(u.urlopen(sys.argv[1] + "/page").read())' $1`, "b'page\\n'\n", false},
		"node": {"node", false, `NODE_EXTRA_CA_CERTS=$2 node -e 'fetch(process.argv[1] + "/page").then(r => ` +
			`r.text()).then(console.log)' $1`, "page\n\n", true},
	} {
		_, err := osexec.LookPath(tool.program)
		if err != nil && !tool.required {
			t.Logf("%s is not installed", name)
			continue
		}
		require.NoError(t, err, "./test installs %s", name)
		for _, script := range []string{tool.text, "unset HTTPS_PROXY https_proxy; " + tool.text} {
			o := opts{"argv": []string{"bash", "-c", script, "-", "https://" + host, roots}, "env": []string{"PATH"},
				"read": []string{roots}, "egress": []string{host}}
			kit, s := runtest.New(t), runtest.Compile(t, spec(o), nil)
			e, err := New(s, kit.Redeemer, Options{Dir: t.TempDir(), AllowHosts: []string{"127.0.0.1"}, Lookup: func(context.Context,
				string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}})
			require.NoError(t, err)
			res, err := kit.Run(t, e, s, opts{"a": ""})
			require.NoError(t, err, "%s: %+v", name, res.Egress)
			require.Equal(t, tool.want, res.Content, name)
			require.Positive(t, res.Egress.Connections)
			require.Zero(t, res.Egress.Refused, "%s", res.Egress.Details)
			proxied := strings.Contains(string(res.Egress.Details), `"via":"proxy"`)
			require.Equal(t, script == tool.text && !tool.direct, proxied, name)
		}
	}
}
