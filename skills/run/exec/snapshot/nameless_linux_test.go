package snapshot

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keepIn runs a bash script over the layer until the test ends, and returns the number of its
// PID 1. The script says ready and stays.
func keepIn(t *testing.T, l *Layer, script string) (pid int) {
	t.Helper()
	cmd := childCommand(t, l, script+"\necho ready; read -r x")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		_ = in.Close()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "the script said: %s", &stderr)
	require.Equal(t, "ready\n", line)
	return cmd.Process.Pid
}

// pythonTo is a line of bash that starts a python program in the background and goes on when
// that has made the file ok.
func pythonTo(program string) string {
	return "python3 -c '" + program + "\nopen(\"ok\", \"w\")\nimport time\ntime.sleep(1000)' & while ! [ -e ok ]; do :; done; rm ok"
}

const (
	nameOne = "import os, socket, array, ctypes, threading\nf = open(\"x\", \"w+b\")\nf.write(bytes(300000))\nf.flush()\nos.remove(\"x\")\n"
	passOne = "a, b = socket.socketpair()\na.sendmsg([b\"x\"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array(\"i\", " +
		"[f.fileno()]))])\nf.close()\n"
)

// A file without a name counts while a process holds it, in whatever way it came to that.
func TestMeasureOfNamelessFiles(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		for name, row := range map[string]struct {
			script string
			beyond bool
			hidden bool
		}{
			"none":            {"echo x >f", false, false},
			"with a name":     {"exec 9>f; head -c 150000 /dev/zero >&9", false, false},
			"removed":         {"exec 9>f; head -c 300000 /dev/zero >&9; rm f", true, false},
			"several of few":  {"for i in 7 8 9; do eval \"exec $i>f\"; head -c 90000 /dev/zero >&$i; rm f; done", true, false},
			"held twice":      {"exec 9>f; head -c 150000 /dev/zero >&9; exec 8>&9; rm f; sleep 1000 &", false, false},
			"in a daemon":     {"exec 9>f; head -c 300000 /dev/zero >&9; rm f; setsid sleep 1000 & exec 9>&-", true, false},
			"made without":    {pythonTo("import os\nfd = os.open(\".\", os.O_TMPFILE | os.O_RDWR)\nos.write(fd, bytes(300000))"), true, false},
			"elsewhere":       {"exec 9>$HOME/f; head -c 300000 /dev/zero >&9; rm $HOME/f", false, false},
			"in memory":       {pythonTo("import os\nfd = os.memfd_create(\"m\")\nos.write(fd, bytes(300000))"), false, false},
			"mapped":          {pythonTo(nameOne + "ctypes.CDLL(None).mmap(None, 4096, 3, 1, f.fileno(), 0)\nf.close()\n"), false, true},
			"passed":          {pythonTo(nameOne + passOne), false, true},
			"hides":           {pythonTo(nameOne + "ctypes.CDLL(None).prctl(4, 0)\n"), os.Geteuid() == 0, os.Geteuid() != 0},
			"its leader ends": {pythonTo(nameOne + endLeader), true, false},
		} {
			s := newSite(t, false)
			home := filepath.Join(filepath.Dir(s.root), "home")
			require.NoError(t, os.Mkdir(home, 0o700))
			l := s.open(t, func(o *Options) { o.Limits = Limits{Bytes: 200_000} })
			pid := keepIn(t, l, "HOME="+home+"\n"+row.script)
			found, err := findNameless(t.Context(), l, pid)
			require.NoError(t, err, name)
			require.Equal(t, row.hidden, found.hidden, name)
			_, err = l.Measure(t.Context())
			require.NoError(t, err, name)
			l.meta.Free *= 2 // as if others had taken half of the disk since
			_, err = l.MeasureRunning(t.Context(), pid)
			if row.beyond || row.hidden {
				require.Equal(t, &LimitError{"bytes", 200_000}, err, name)
			} else {
				require.NoError(t, err, name)
			}
			if row.hidden { // what hides counts by the disk alone
				l.meta.Free = 1
				_, err = l.MeasureRunning(t.Context(), pid)
				require.NoError(t, err, name)
			}
		}
	})
}

// endLeader ends the first thread of a process while another goes on.
const endLeader = "def stay():\n  open(\"ok\", \"w\")\n  import time\n  time.sleep(1000)\n" +
	"threading.Thread(target=stay).start()\nctypes.CDLL(None).syscall(60, 0)\n"

// A process that is gone hides nothing more, and is no error.
func TestMeasureOfAProcessThatEnded(t *testing.T) {
	s := newSite(t, false)
	l := s.open(t)
	cmd := exec.CommandContext(t.Context(), "true")
	require.NoError(t, cmd.Run())
	_, err := l.MeasureRunning(t.Context(), cmd.Process.Pid)
	require.NoError(t, err)
}

// The layer's own mounts are told from others.
func TestListOverlays(t *testing.T) {
	require.Equal(t, []string{"41", "43"}, listOverlays(strings.Join([]string{
		"41 40 0:50 / /work rw,nosuid - overlay vedette rw,lowerdir=lower",
		"42 40 0:51 / /other rw - overlay overlay rw",
		"43 40 0:52 / /a\\040b rw shared:1 master:2 - overlay vedette rw",
		"44 40 0:53 / /tmp rw - tmpfs vedette rw",
		"damaged", "",
	}, "\n")))
}
