package egress_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/egress"
	"github.com/vedette-dev/vedette/skills/run/exec/egress/listen"
)

// The names under which this test binary starts itself again.
const (
	childName = "egress-child" // in namespaces of its own
	probeName = "egress-probe" // the hostile program
)

func TestMain(m *testing.M) {
	switch os.Args[0] {
	case childName:
		fmt.Fprintln(os.Stderr, "child:", becomeProgram())
		os.Exit(126)
	case probeName:
		if err := runProbe(os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// raceOptions lets a process end at once: with the race detector each would sleep a
// second, for races that other threads find meanwhile. What is found is told as ever.
func raceOptions() string { return "GORACE=" + os.Getenv("GORACE") + " atexit_sleep_ms=0" }

// orders are what the child is told.
type orders struct {
	Plan  listen.Plan
	Files map[string]string // a path in the sandbox, and the file that stands there
	Path  string
	Argv  []string
	Env   []string
	// Without is what the sandbox's system lacks: withoutIPv6 or ipv6Off.
	Without string
}

const (
	withoutIPv6 = "ipv6"          // a kernel that has no IPv6
	ipv6Off     = "ipv6 switched" // one on which it is switched off
)

// takeAway makes the system lack something.
func takeAway(what string) error {
	switch what {
	case ipv6Off:
		return os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0)
	case withoutIPv6:
		code := []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SOCKET, Jf: 3},
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16}, {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.AF_INET6, Jf: 1},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
		prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
		return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
	}
	return nil
}

// becomeProgram does what the sandbox's child does around listen.Open, and returns
// only where something failed.
func becomeProgram() error {
	runtime.LockOSThread()
	var o orders
	if err := json.NewDecoder(os.NewFile(3, "orders")).Decode(&o); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for at, from := range o.Files {
		if err := unix.Mount(from, at, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", at, err)
		}
	}
	if err := raiseLoopback(); err != nil {
		return err
	}
	if err := takeAway(o.Without); err != nil {
		return fmt.Errorf("take away %s: %w", o.Without, err)
	}
	fds, err := listen.Open(o.Plan)
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(4, []byte{1}, unix.UnixRights(fds...), nil, 0); err != nil {
		return err
	}
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return syscall.Exec(o.Path, o.Argv, o.Env)
}

func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}

// book keeps what was recorded.
type book struct {
	mu   sync.Mutex
	rows []egress.Connection
}

func (b *book) Record(c egress.Connection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = append(b.rows, c)
}

// sandbox runs programs whose network is served.
type sandbox struct {
	policy  *egress.Policy
	options egress.Options
	proxied bool // whether programs get the proxy's variables
	env     []string
	without string
}

// ran is what became of a program.
type ran struct {
	code           int
	stdout, stderr string
	rows           []egress.Connection
	totals         egress.Totals
}

// outcomes are the distinct ways and outcomes that were recorded.
func (r ran) outcomes() []string {
	var out []string
	for _, c := range r.rows {
		out = append(out, fmt.Sprintf("%s %s %s:%d", c.Via, c.Outcome, c.Host, c.Port))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// run starts a program in namespaces of its own, serves its network, and returns when
// both have ended.
func (s sandbox) run(t testing.TB, argv ...string) ran {
	t.Helper()
	line := socketPair(t)
	cmd := s.command(t, line[1], argv)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	require.NoError(t, line[1].Close())
	files, err := receiveFiles(line[0])
	if err != nil {
		_ = cmd.Wait()
		require.NoError(t, err, "the child said: %s", stderr.String())
	}
	b := &book{}
	o := s.options
	o.Policy, o.Recorder = s.policy, b
	server, err := egress.Serve(t.Context(), files, o)
	require.NoError(t, err)
	_ = cmd.Wait()
	totals := server.Stop()
	return ran{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String(), rows: b.rows, totals: totals}
}

func (s sandbox) command(t testing.TB, line *os.File, argv []string) *osexec.Cmd {
	t.Helper()
	dir := t.TempDir()
	o := orders{Plan: s.policy.Plan(), Argv: argv, Without: s.without, Files: map[string]string{}, Env: append(s.env,
		"PATH=/usr/bin:/bin", raceOptions())}
	if s.proxied {
		o.Env = append(o.Env, s.policy.Environ()...)
	}
	for at, text := range map[string]string{
		"/etc/resolv.conf": s.policy.Resolver(), "/etc/nsswitch.conf": "hosts: files dns\n", "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
	} {
		o.Files[at] = filepath.Join(dir, filepath.Base(at))
		require.NoError(t, os.WriteFile(o.Files[at], []byte(text), 0o600))
	}
	var err error
	if o.Path = "/proc/self/exe"; argv[0] != probeName {
		o.Path, err = osexec.LookPath(argv[0])
		require.NoError(t, err)
	}
	raw, err := json.Marshal(o)
	require.NoError(t, err)
	file := filepath.Join(dir, "orders")
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	in, err := os.Open(file)
	require.NoError(t, err)
	t.Cleanup(func() { _ = in.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	cmd := osexec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args, cmd.ExtraFiles = []string{childName}, []*os.File{in, line}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE},
		Pdeathsig:   syscall.SIGKILL,
	}
	return cmd
}

func socketPair(t testing.TB) [2]*os.File {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	out := [2]*os.File{os.NewFile(uintptr(fds[0]), "line"), os.NewFile(uintptr(fds[1]), "line")}
	t.Cleanup(func() {
		_ = out[0].Close()
		_ = out[1].Close()
	})
	return out
}

func receiveFiles(line *os.File) ([]*os.File, error) {
	one, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(64*4))
	n, size, _, _, err := unix.Recvmsg(int(line.Fd()), one, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		return nil, errors.Join(errors.New("the child sent no sockets"), err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(errors.New("the child sent no sockets"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	var out []*os.File
	for _, fd := range fds {
		out = append(out, os.NewFile(uintptr(fd), "socket"))
	}
	return out, err
}

// asEachUser runs f, and as root runs the test a second time as an ordinary user.
func asEachUser(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	f(t)
	if os.Geteuid() != 0 {
		return
	}
	cmd := osexec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "HOME=/", "TMPDIR=/tmp", raceOptions())
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "as uid 65534:\n%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name()+" ")
}

// runProbe is a program that tries one thing, and says what came of it.
func runProbe(what string, args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	switch what {
	case "get": // URL, file of roots: an HTTP request by Go's client, which heeds the variables
		return probeGet(ctx, args[0], args[1])
	case "dial": // network, address: and the connection must last
		return probeDial(ctx, args[0], args[1])
	case "lookup": // name, server: an answer of DNS
		return probeLookup(ctx, args[0], args[1], args[2])
	case "say": // address, text, then read to the end
		return probeSay(ctx, args[0], args[1])
	case "open": // what the child did
		_, err := listen.Open(listen.Plan{Proxy: 3999})
		return err
	case "many":
		return probeMany(ctx, args[0])
	}
	return errors.New("unknown probe")
}

func probeGet(ctx context.Context, url, roots string) error {
	pem, err := os.ReadFile(roots)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	c := http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: pool}}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := c.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	_, err = io.Copy(os.Stdout, res.Body)
	return err
}

// probeDial succeeds where the other side answers, or keeps the connection.
func probeDial(ctx context.Context, network, addr string) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if _, err = c.Write([]byte("hello\n")); err != nil {
		return err
	}
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	n, err := c.Read(make([]byte, 100))
	if n > 0 {
		return nil
	}
	return err
}

func probeLookup(ctx context.Context, network, name, server string) error {
	r := net.Resolver{PreferGo: true}
	if server != "" {
		r.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, server)
		}
	}
	addrs, err := r.LookupNetIP(ctx, "ip", name)
	for _, a := range addrs {
		fmt.Println(a)
	}
	return err
}

func probeSay(ctx context.Context, addr, text string) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, c)
	return err
}

// probeMany asks for many names and ports that aren't listed.
func probeMany(ctx context.Context, addr string) error {
	for i := range 200 {
		_ = probeLookup(ctx, "udp", fmt.Sprintf("n%d.evil.test.", i), "")
		if a, err := netip.ParseAddr(addr); err == nil {
			_ = probeDial(ctx, "tcp", netip.AddrPortFrom(a, uint16(20000+i)).String())
		}
	}
	return nil
}
