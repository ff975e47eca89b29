package exec

import (
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills"
)

// victim is a folder outside, with what an attack could reach: a file, a socket,
// an abstract socket, a process.
type victim struct {
	dir, file string
	attempts  []string
}

func newVictim(t *testing.T) victim {
	t.Helper()
	v := victim{dir: t.TempDir()}
	v.file = filepath.Join(v.dir, "file")
	require.NoError(t, os.WriteFile(v.file, []byte("canary"), 0o640))
	socket := filepath.Join(v.dir, "s")
	abstract := "@" + v.dir
	for _, name := range []string{socket, abstract} {
		l, err := net.Listen("unix", name)
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	asleep := osexec.CommandContext(t.Context(), "sleep", "1000")
	require.NoError(t, asleep.Start())
	t.Cleanup(func() { require.NoError(t, asleep.Process.Kill(), "the process outside was ended"); _ = asleep.Wait() })
	v.attempts = []string{"unix=" + socket, "abstract=" + abstract, "tcp=" + l.Addr().String(), "signal=" + strconv.Itoa(asleep.Process.Pid)}
	for _, kind := range []string{"read", "write", "stat", "chmod", "utime", "setxattr", "truncate", "link"} {
		v.attempts = append(v.attempts, kind+"="+v.file)
	}
	return v
}

// state is all of the file that an attack could change.
func (v victim) state(t *testing.T) map[string]any {
	t.Helper()
	var st unix.Stat_t
	require.NoError(t, unix.Stat(v.file, &st))
	b, err := os.ReadFile(v.file)
	require.NoError(t, err)
	names := make([]byte, 1024)
	n, err := unix.Listxattr(v.file, names)
	require.NoError(t, err)
	return map[string]any{"mode": st.Mode, "links": st.Nlink, "mtime": st.Mtim, "ctime": st.Ctim, "bytes": string(b),
		"xattrs": string(names[:n])}
}

// Nothing outside can be reached under full, by file or by socket or by signal;
// and under strict nothing but a look at a file's metadata.
func TestOutside(t *testing.T) {
	for isolation, open := range map[string][]string{
		IsolationFull: nil, IsolationNamespaces: nil, IsolationAuto: nil, IsolationStrict: {"stat"},
	} {
		v := newVictim(t)
		before := v.state(t)
		res, out := tryInside(t, opts{"isolation": isolation}, skills.Modify, v.attempts...)
		for kind, said := range out {
			require.Equal(t, slices.Contains(open, kind), said == "done", "%s: %s %s", isolation, kind, said)
		}
		require.Equal(t, before, v.state(t), isolation)
		require.Equal(t, isolation == IsolationStrict, res.Isolation == GradeStrict, res.Isolation)
	}
}

// What plain Landlock leaves open is what the manual says: metadata and sockets
// by path. It holds contents, links, signals and abstract sockets.
func TestOutsideUnderLandlock(t *testing.T) {
	v := newVictim(t)
	res, out := tryInside(t, opts{"isolation": IsolationLandlock}, skills.Modify, v.attempts...)
	require.Contains(t, []string{gradeBoth, GradeLandlock}, res.Isolation)
	for _, kind := range []string{"read", "write", "truncate", "link", "signal", "abstract", "tcp"} {
		require.NotEqual(t, "done", out[kind], kind)
	}
	for _, kind := range []string{"stat", "chmod", "utime"} {
		require.Equal(t, "done", out[kind], kind)
	}
}

// As root nothing of the kernel's settings can be written, though /proc is named
// as readable; and no file that runs as its owner comes out of a write root.
func TestRootGetsNoFurther(t *testing.T) {
	for _, proc := range []bool{false, true} {
		dir := t.TempDir()
		file := filepath.Join(dir, "tool")
		require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755))
		o := opts{"isolation": IsolationFull, "write": []string{dir}}
		if proc {
			o["read"] = []string{"/proc"}
		}
		_, out := tryInside(t, o, skills.Modify, "write=/proc/sys/kernel/core_pattern", "setuid="+file,
			"setuid-new="+filepath.Join(dir, "new"), "create="+filepath.Join(dir, "plain"))
		require.NotEqual(t, "done", out["write"])
		require.Equal(t, "EPERM", out["setuid"])
		require.Equal(t, "EPERM", out["setuid-new"])
		require.Equal(t, "done", out["create"])
		require.NoFileExists(t, filepath.Join(dir, "new"))
		var st unix.Stat_t
		require.NoError(t, unix.Stat(file, &st))
		require.Zero(t, st.Mode&(unix.S_ISUID|unix.S_ISGID))
	}
	_, err := run(t, opts{"argv": []string{"sh", "-c", "echo x > /proc/self/oom_score_adj"}, "read": []string{"/proc"}}, opts{"a": ""})
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
}

// Each call of the list gives the stated error, in each grade.
func TestFilteredCalls(t *testing.T) {
	want := map[string]string{}
	var attempts []string
	for answer, numbers := range map[string][]uint32{"EPERM": slices.Concat(refused, oldRefused), "ENOSYS": missing} {
		for _, nr := range numbers {
			name := strconv.Itoa(int(nr))
			want["call:"+name] = answer
			attempts = append(attempts, "call:"+name+"="+name)
		}
	}
	for _, isolation := range []string{IsolationFull, IsolationStrict, IsolationLandlock} {
		_, out := tryInside(t, opts{"isolation": isolation}, skills.Modify, attempts...)
		require.Equal(t, want, out, isolation)
	}
}

// rawCalls makes calls that Go doesn't: by int 0x80, with x32's bit, and with
// arguments whose upper half is there to mislead a filter.
const rawCalls = `
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static void say(const char *name, long r) { printf("%s %s\n", name, r < 0 ? strerrorname_np(errno) : "done"); fflush(stdout); }
int main(int argc, char **argv) {
	if (argc > 1) {
#if defined(__x86_64__)
		long r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory");
		printf("int80 %ld\n", r);
#endif
		return 0;
	}
#if defined(__x86_64__)
	say("x32", syscall(0x40000000 | 39));
#endif
	say("tiocsti", syscall(SYS_ioctl, 0, 0x100005412UL, "x"));
	say("newuser", syscall(SYS_clone, 0x10000000, 0, 0, 0, 0));
	say("newns", syscall(SYS_clone, 0x00020000, 0, 0, 0, 0));
	say("packet", socket(AF_PACKET, SOCK_RAW, 0));
	say("alg", socket(38, SOCK_SEQPACKET, 0));
	say("vsock", socket(40, SOCK_STREAM, 0));
	say("high", syscall(SYS_socket, 0x100000000UL | 38, SOCK_SEQPACKET, 0));
	say("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
	int fds[2];
	say("pair", socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	int fd = open("/tmp/f", O_CREAT | O_WRONLY, 0644);
	say("create", fd);
	say("fchmod", fchmod(fd, 04755));
	say("setgid", fchmod(fd, 02755));
	say("fchmodat2", syscall(452, AT_FDCWD, "/tmp/f", 04755, 0));
	say("openat", openat(AT_FDCWD, "/tmp/g", O_CREAT | O_WRONLY, 04755));
	say("garbage", syscall(SYS_openat, AT_FDCWD, "/tmp/f", O_RDONLY, 06777));
	say("tmpfile", openat(AT_FDCWD, "/tmp", O_TMPFILE | O_WRONLY, 04755));
	say("mknod", mknod("/tmp/h", S_IFREG | 04755, 0));
	return 0;
}
`

// compileC returns a program made of C source, in a folder of its own.
func compileC(t *testing.T, source string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := osexec.CommandContext(t.Context(), "gcc", "-x", "c", "-D_GNU_SOURCE", "-o", out, "-")
	cmd.Stdin = strings.NewReader(source)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return out
}

// What the filter decides by arguments: the lower half counts, as for the kernel.
func TestFilteredArguments(t *testing.T) {
	program := compileC(t, rawCalls)
	res, err := run(t, opts{"argv": []string{program}, "isolation": IsolationFull}, opts{"a": ""})
	require.NoError(t, err)
	want := "tiocsti EPERM\nnewuser EPERM\nnewns EPERM\npacket EPERM\nalg EPERM\nvsock EPERM\nhigh EPERM\nnetlink done\npair " +
		"done\ncreate done\n" +
		"fchmod EPERM\nsetgid EPERM\nfchmodat2 EPERM\nopenat EPERM\ngarbage done\ntmpfile EPERM\nmknod EPERM\n"
	if runtime.GOARCH == "amd64" {
		want = "x32 ENOSYS\n" + want
	}
	require.Equal(t, want, res.Content)
	_, err = run(t, opts{"argv": []string{program, "int80"}, "isolation": IsolationFull}, opts{"a": ""})
	if runtime.GOARCH != "amd64" {
		require.NoError(t, err)
		return
	}
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, signalled(syscall.SIGSYS), exit.Code)
}

// signalled is how shells tell a death by a signal.
func signalled(s syscall.Signal) int { return 128 + int(s) }
