package review_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// farModel makes this test binary a model's server: how long it takes to
// answer. It serves until its standard input ends.
const farModel = "VEDETTE_TEST_FAR_MODEL"

// beModel says its address on standard output and answers every question alike.
// Below /count it tells how many connections were made and how many questions
// were asked.
func beModel(takes string) error {
	wait, err := time.ParseDuration(takes)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var dialled, asked atomic.Int64
	srv := &http.Server{
		ReadHeaderTimeout: time.Minute,
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				dialled.Add(1)
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/count" {
				_, _ = io.WriteString(w, strconv.FormatInt(dialled.Load(), 10)+" "+strconv.FormatInt(asked.Load(), 10))
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			asked.Add(1)
			if wait > 0 {
				t := time.NewTimer(wait)
				defer t.Stop()
				<-t.C
			}
			say(w, approves)
		}),
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = srv.Close()
	}()
	if _, err := os.Stdout.WriteString("http://" + l.Addr().String() + "\n"); err != nil {
		return err
	}
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// farServer is a model in a process of its own.
type farServer struct{ URL string }

func serveFar(tb testing.TB, takes time.Duration) farServer {
	tb.Helper()
	self, err := os.Executable()
	require.NoError(tb, err)
	cmd := exec.Command(self) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), farModel+"="+takes.String())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(tb, err)
	out, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	tb.Cleanup(func() {
		_ = in.Close()
		require.NoError(tb, cmd.Wait())
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(tb, err)
	return farServer{URL: strings.TrimSpace(line)}
}

// counts returns how many connections were made and how many questions asked.
// Its own connection is closed and not counted.
func (f farServer) counts(tb testing.TB) (dialled, asked int) {
	tb.Helper()
	hc := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := hc.Get(f.URL + "/count")
	require.NoError(tb, err)
	b, err := io.ReadAll(res.Body)
	require.NoError(tb, err)
	require.NoError(tb, res.Body.Close())
	d, a, ok := strings.Cut(string(b), " ")
	require.True(tb, ok)
	dialled, err = strconv.Atoi(d)
	require.NoError(tb, err)
	asked, err = strconv.Atoi(a)
	require.NoError(tb, err)
	return dialled, asked
}
