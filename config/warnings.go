package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Warning is something in a configuration that is allowed and probably not meant.
type Warning struct {
	// Code is a closed word, for programs.
	Code string
	// Pos is where it stands.
	Pos Position
	// Msg says what it comes to, Advice what to do.
	Msg, Advice string
}

// effects are the keys of a table by effect.
var effects = []string{"read", "create", "modify", "irreversible", "costs_money"}

// Idle reports whether no call is judged: the mode is off for every effect, and
// no skill has a mode of its own in which it is judged.
func (s Sentinel) Idle() bool {
	for _, e := range effects {
		mode, own := s.Modes.Effect[e]
		if !own {
			mode = s.Mode
		}
		if mode != Off {
			return false
		}
	}
	for _, mode := range s.Modes.Skill {
		if mode != Off {
			return false
		}
	}
	return true
}

// Warnings returns the settings that do nothing, or that do more than their author may
// know, in the order of the file.
func (c *Config) Warnings() []Warning {
	var out []Warning
	for _, look := range []func() (Warning, bool){
		c.idleModes, c.idleKeys, c.shortReview, c.noCache, c.openUnjudged, c.oneAddress, c.idleAskBelow,
	} {
		if w, found := look(); found {
			out = append(out, w)
		}
	}
	out = append(out, c.manyWarnings()...)
	slices.SortStableFunc(out, func(a, b Warning) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Msg, b.Msg),
		)
	})
	return out
}

// warning makes one of the place where path is written.
func (c *Config) warning(code, path, msg, advice string) (Warning, bool) {
	at, _ := c.Pos(path)
	return Warning{code, at, msg, advice}, true
}

func (c *Config) written(path string) bool {
	_, ok := c.Pos(path)
	return ok
}

// idleModes finds modes that turn the whole review off.
func (c *Config) idleModes() (Warning, bool) {
	if c.Sentinel.Mode == Off || !c.Sentinel.Idle() {
		return Warning{}, false
	}
	return c.warning("review_idle", "sentinel.modes.effect", "sentinel.modes turns the review off for every effect: the rules decide alone",
		"leave out the effects that shall be judged, or say so with sentinel.mode")
}

// idleKeys finds what shapes a review that judges nothing.
func (c *Config) idleKeys() (Warning, bool) {
	s := c.where.root.get("sentinel")
	if !c.Sentinel.Idle() || s == nil || s.kind != mappingNode {
		return Warning{}, false
	}
	var keys []string
	for _, e := range s.entries {
		if e.key != "mode" && e.key != "modes" {
			keys = append(keys, e.key)
		}
	}
	if len(keys) == 0 {
		return Warning{}, false
	}
	return c.warning("review_unused", "sentinel."+keys[0], "the review is off, so this under sentinel does nothing: "+strings.Join(keys, ", "),
		"turn the review on with sentinel.mode, or take it out")
}

// shortReview finds a review that gives up before a model of it does. A model
// that works as well may need its time there, within reason.
func (c *Config) shortReview() (Warning, bool) {
	s := c.Sentinel
	if s.Idle() || !c.written("sentinel.timeout") {
		return Warning{}, false
	}
	for _, name := range slices.Concat(c.Roles["sentinel"], s.Escalate.To) {
		path := "models." + name + ".timeout"
		t := c.Models[name].Timeout
		least := t
		if slices.Contains(slices.Concat(c.Roles["orchestrator"], c.Roles["agent"]), name) {
			least = t / 10
		}
		if c.written(path) && s.Timeout < least {
			return c.warning("review_timeout", "sentinel.timeout",
				fmt.Sprintf("sentinel.timeout, %s, ends each review before %s, %s, does", s.Timeout, path, t),
				"raise it, or lower the model's; the models of a chain share it")
		}
	}
	return Warning{}, false
}

func (c *Config) noCache() (Warning, bool) {
	if c.Sentinel.Idle() || c.Sentinel.CacheTTL != 0 || !c.written("sentinel.cache_size") {
		return Warning{}, false
	}
	return c.warning("cache_off", "sentinel.cache_size", "sentinel.cache_size does nothing: cache_ttl is 0s, so no answer is kept",
		"give cache_ttl a time, or take cache_size out")
}

// openUnjudged finds calls that go ahead without a judgement. The writer of their
// arguments can bring that about.
func (c *Config) openUnjudged() (Warning, bool) {
	open := c.Sentinel.Unjudgeable.Open()
	if c.Sentinel.Idle() || len(open) == 0 {
		return Warning{}, false
	}
	return c.warning("unjudgeable_allow", "sentinel.unjudgeable."+open[0],
		"calls go ahead that no model could judge, and the writer of their arguments can make it so: sentinel.unjudgeable allows "+
			strings.Join(open, ", "),
		"set them to ask or deny")
}

// idleAskBelow finds a judge that never asks a person: what scores so low is
// denied already. Zero says that on purpose.
func (c *Config) idleAskBelow() (Warning, bool) {
	ask, deny := c.Judge.AskBelow, c.Judge.Threshold
	if ask == 0 || ask >= deny {
		return Warning{}, false
	}
	path := "judge.ask_below"
	if !c.written(path) {
		path = "judge.threshold"
	}
	return c.warning("ask_below_idle", path,
		fmt.Sprintf("judge.ask_below, %.2f, is less than judge.threshold, %.2f: the judge denies such calls and never asks a person",
			float64(ask)/100, float64(deny)/100),
		"raise ask_below above the threshold, lower the threshold, or set ask_below to 0")
}

// Open returns the rows that say allow.
func (f Fallback) Open() []string {
	var out []string
	for i, cell := range []Action{f.Read, f.Create, f.Modify, f.Irreversible, f.CostsMoney, f.Outward} {
		if cell == Allow {
			out = append(out, append(slices.Clone(effects), "outward")[i])
		}
	}
	return out
}

// oneAddress finds two servers that want one address.
func (c *Config) oneAddress() (Warning, bool) {
	if !sameAddress(c.Telemetry.Metrics.Listen, c.Server.Listen) {
		return Warning{}, false
	}
	return c.warning("listen_twice", "telemetry.metrics.listen",
		"telemetry.metrics.listen is the address of server.listen too: only one of them can have it",
		"give metrics another port, such as 9464")
}

// sameAddress reports whether two servers couldn't both listen. A host that is
// every interface holds all others.
func sameAddress(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	return hostA == hostB || everywhere(hostA) || everywhere(hostB) || loopback(hostA) && loopback(hostB)
}

func everywhere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

func loopback(host string) bool { return host == "localhost" || host == "127.0.0.1" }
