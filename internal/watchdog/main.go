//go:build unix

// Command watchdog runs the test program of one package, and ends it when one
// of its tests hangs. go test has a limit for a whole package alone; this has one
// for each test.
//
//	go test -exec "$PWD/bin/watchdog" ./...
//
// A test hangs when nothing is heard of it, or of its subtests, for five minutes.
// A test that waits in t.Parallel for its turn doesn't hang. The watchdog sends
// SIGQUIT to the program, which then prints the stacks of all goroutines and ends.
// Tests that may be silent for longer are listed in longer.go, with a reason.
//
// The output is what the program prints without -test.v: what tests that passed
// have logged is left out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// silence is how long nothing may be heard of a test. The slowest one takes half a
// minute on two idle cores; beside other work on them it took more than two.
const silence = 5 * time.Minute

// grace is how long a program has to print its stacks, before it is killed.
const grace = 20 * time.Second

func main() {
	limit := flag.Duration("limit", silence, "how long nothing may be heard of a test")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: watchdog [-limit 5m] PROGRAM [ARGUMENT…]; it is for go test -exec")
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	os.Exit(runProgram(flag.Args(), *limit, os.Stdout))
}

// runProgram runs a test program to its end and returns its exit status.
func runProgram(args []string, limit time.Duration, out io.Writer) int {
	how, args := withEvents(args)
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "watchdog: working folder unknown: %v\n", err)
		return 2
	}
	c := newClocks(limit, packageOf(dir), time.Now)
	c.long = os.Getenv("VEDETTE_LONG") != ""
	report := &filter{out: out, clocks: c, how: how}
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, report, report
	cmd.WaitDelay = grace // a child of the program may hold its output open
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "watchdog: test program %s did not start: %v\n", args[0], err)
		return 2
	}
	ended := make(chan struct{})
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		watchClocks(cmd.Process, c, report, ended)
	}()
	err = cmd.Wait()
	close(ended)
	<-watching
	report.Close()
	return exitStatus(err)
}

// packageOf returns the folder of a package below its module's, "." for the
// module's own, and the folder itself where there is no module.
func packageOf(dir string) string {
	for root := dir; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			below, _ := filepath.Rel(root, dir) // root is above dir
			return filepath.ToSlash(below)
		}
		if root == filepath.Dir(root) {
			return dir
		}
	}
}

// withEvents makes the program tell where each test begins and ends, and says how
// much of that is for the reader.
func withEvents(args []string) (how verbosity, all []string) {
	const events = "-test.v=test2json"
	for i, a := range args {
		switch name, value, _ := strings.Cut(strings.TrimLeft(a, "-"), "="); {
		case i == 0 || name != "test.v" || value == "false":
		case value == "test2json":
			return raw, args
		default:
			return verbose, slices.Concat(args[:i], []string{events}, args[i+1:])
		}
	}
	return quiet, append([]string{args[0], events}, args[1:]...)
}

// watchClocks looks at the clocks until the program has ended, and ends it if a
// test hangs: with SIGQUIT, then, if that does nothing, with SIGKILL.
func watchClocks(p *os.Process, c *clocks, report *filter, ended <-chan struct{}) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	defer signal.Stop(stop)
	tick := time.NewTicker(c.pace())
	defer tick.Stop()
	var kill <-chan time.Time
	for {
		select {
		case <-ended:
			return
		case s := <-stop: // a signal to this program is one to the other
			_ = p.Signal(s)
		case <-kill:
			_ = p.Kill()
		case <-tick.C:
			name, heard := c.hanging()
			if heard == 0 || kill != nil {
				continue
			}
			report.note(fmt.Sprintf("\nwatchdog: %s hangs: nothing was heard of it for %v; the stacks follow\n",
				name, heard.Round(time.Millisecond)))
			_ = p.Signal(syscall.SIGQUIT)
			kill = time.After(grace)
		}
	}
}

// exitStatus is 0 only for a program that ended well.
func exitStatus(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	}
	fmt.Fprintf(os.Stderr, "watchdog: test program ended: %v\n", err)
	return 2
}
