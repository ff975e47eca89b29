package config

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/notice"
	"github.com/vedette-dev/vedette/skills"
)

// The modes of Proxy.
const (
	// ProxyEnforce forwards no call that wasn't allowed.
	ProxyEnforce = "enforce"
	// ProxyShadow forwards everything and records what enforcing would have done.
	ProxyShadow = "shadow"
	ProxyOff    = "off"
)

// Proxy is the streaming proxy: it carries models' answers to clients and judges the tool calls in them.
type Proxy struct {
	// Mode is enforce, shadow or off. Without an upstream there is no proxy.
	Mode string `yaml:"mode" cfg:"enum=enforce|shadow|off"`
	// OnBlock says what follows a blocked call in an answer.
	OnBlock string `yaml:"on_block" cfg:"enum=terminate|continue"`
	// Incomplete says what becomes of calls that have no end when their answer has.
	Incomplete string `yaml:"incomplete" cfg:"enum=block|judge"`
	// Notice is the text in the place of a blocked call; empty is a text of the proxy's own.
	Notice string `yaml:"notice"`
	// Hold is how long a stream is held open while a person is asked; zero doesn't hold it.
	Hold time.Duration `yaml:"hold" cfg:"min=1s,max=1h,never"`
	// KeepAlive is how often something is sent on a stream that is held.
	KeepAlive time.Duration `yaml:"keep_alive" cfg:"min=1s,max=2m"`
	// Idle is how long after its last request a key goes on with its conversation, where requests name none.
	Idle time.Duration `yaml:"idle" cfg:"min=1s,max=24h"`
	// Local lets callers on this machine in without a token. Their own provider's key goes to the upstream.
	Local bool `yaml:"local"`
	// OpenAI and Anthropic are the servers behind the two doors; the first that has a request's model answers it.
	OpenAI    []ProxyUpstream `yaml:"openai" cfg:"nonempty"`
	Anthropic []ProxyUpstream `yaml:"anthropic" cfg:"nonempty"`
	// Tools say what calls of clients' tools do; the first that matches a tool counts.
	Tools []ProxyTool `yaml:"tools" cfg:"nonempty"`
	// Limits bound requests and answers.
	Limits ProxyLimits `yaml:"limits"`
	// Timeouts bound the waits for upstreams.
	Timeouts ProxyTimeouts `yaml:"timeouts"`
}

// ProxyUpstream is a server that answers for models.
type ProxyUpstream struct {
	// URL is what a client would have as its base URL.
	URL string `yaml:"url" cfg:"required"`
	// Models are the names of models that it has, with * for any characters; none is all.
	Models []string `yaml:"models" cfg:"nonempty"`
	// APIKey is sent in place of what the client sent. Credential names one for each user. Without both the
	// client's own key passes.
	APIKey     Secret `yaml:"api_key" cfg:"empty"`
	Credential string `yaml:"credential"`
}

// ProxyTool says what calls of a tool do.
type ProxyTool struct {
	// Tool is a tool's name as clients have it, with * for any characters.
	Tool string `yaml:"tool" cfg:"required"`
	// Effect is what a call does to the world.
	Effect skills.Effect `yaml:"effect" cfg:"required,enum=read|create|modify|irreversible|costs_money"`
	// Reaches is whose world that is; empty is others.
	Reaches skills.Reach `yaml:"reaches" cfg:"enum=self|others"`
	// Approval is when a person is asked.
	Approval skills.Approval `yaml:"approval" cfg:"enum=never|policy|always"`
	// Sensitive says that what the tool returns is private.
	Sensitive bool `yaml:"sensitive"`
	// Disabled refuses every call.
	Disabled bool `yaml:"disabled"`
	// Arguments are the annotations of arguments by their names.
	Arguments map[string][]string `yaml:"arguments" cfg:"single,key=name,enum=content|path|right|secret|shell|target|url"`
}

// ProxyLimits bound requests and answers.
type ProxyLimits struct {
	// Body is how large a request may be in bytes, Answer how large one that isn't streamed.
	Body   int `yaml:"body" cfg:"min=1024,max=1073741824"`
	Answer int `yaml:"answer" cfg:"min=1024,max=1073741824"`
	// Arguments, Buffered and Calls bound what is held of an answer: the arguments of a call in bytes, all that is
	// held, and how many calls.
	Arguments int `yaml:"arguments" cfg:"min=1024,max=1048576"`
	Buffered  int `yaml:"buffered" cfg:"min=65536,max=268435456"`
	Calls     int `yaml:"calls" cfg:"min=1,max=4096"`
	// Streams is how many answers of a key are under way at a time, Held how many of them are held for a person.
	Streams int `yaml:"streams" cfg:"min=1,max=1000000"`
	Held    int `yaml:"held" cfg:"min=1,max=100000"`
}

// ProxyTimeouts bound the waits for upstreams.
type ProxyTimeouts struct {
	// Connect is for a connection, Header for the beginning of an answer, Idle for the next byte of it.
	Connect time.Duration `yaml:"connect" cfg:"min=100ms,max=5m"`
	Header  time.Duration `yaml:"header" cfg:"min=1s,max=1h"`
	Idle    time.Duration `yaml:"idle" cfg:"min=1s,max=1h"`
}

// proxyDefaults returns the default of proxy.
func proxyDefaults() Proxy {
	return Proxy{
		Mode: ProxyEnforce, OnBlock: "terminate", Incomplete: "block", Hold: 45 * time.Second, KeepAlive: 10 * time.Second,
		Idle: 30 * time.Minute,
		Limits: ProxyLimits{Body: 64 << 20, Answer: 64 << 20, Arguments: 1 << 20, Buffered: 8 << 20, Calls: 128, Streams: 1024,
			Held: 16},
		Timeouts: ProxyTimeouts{Connect: 10 * time.Second, Header: 10 * time.Minute, Idle: 5 * time.Minute},
	}
}

// IsOn reports whether there is a proxy.
func (p Proxy) IsOn() bool { return p.Mode != ProxyOff && len(p.OpenAI)+len(p.Anthropic) > 0 }

// Upstreams are those of both doors.
func (p Proxy) Upstreams() []ProxyUpstream { return slices.Concat(p.OpenAI, p.Anthropic) }

// IsPattern reports whether the entry is for more than one tool.
func (t ProxyTool) IsPattern() bool { return strings.Contains(t.Tool, "*") }

// Matches reports whether the entry is for a tool of that name.
func (t ProxyTool) Matches(tool string) bool { return MatchStars(t.Tool, tool) }

// Serves reports whether the upstream has a model.
func (u ProxyUpstream) Serves(model string) bool {
	return len(u.Models) == 0 || slices.ContainsFunc(u.Models, func(p string) bool { return MatchStars(p, model) })
}

// MatchStars reports whether a text is what a pattern says, in which * stands for any characters.
func MatchStars(pattern, text string) bool {
	head, rest, stars := strings.Cut(pattern, "*")
	if !stars {
		return pattern == text
	}
	if !strings.HasPrefix(text, head) {
		return false
	}
	text = text[len(head):]
	for {
		part, more, another := strings.Cut(rest, "*")
		if !another {
			return strings.HasSuffix(text, part)
		}
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text, rest = text[i+len(part):], more
	}
}

// proxyPolicy is what of a proxy changes a decision.
type proxyPolicy struct {
	Mode  string
	Tools []ProxyTool
}

// policy returns what changes a decision, nil where there is no proxy.
func (p Proxy) policy() *proxyPolicy {
	if !p.IsOn() {
		return nil
	}
	return &proxyPolicy{p.Mode, p.Tools}
}

// NamedTools are the skills that stand for tools which proxy.tools name literally.
func (p Proxy) NamedTools() []string {
	var out []string
	for _, t := range p.Tools {
		if name, ok := skills.NameTool(t.Tool); ok && !t.IsPattern() {
			out = append(out, name)
		}
	}
	return out
}

// KnownTools are the skills that rules may name for tools; none where there is no proxy.
func (p Proxy) KnownTools() []string {
	if !p.IsOn() {
		return nil
	}
	return append(p.NamedTools(), someTool)
}

// someTool stands among the skills that rules may name for the tools that proxy.tools doesn't, so that tool.* is a
// domain where there is a proxy. No tool has the name.
const someTool = "tool.n-n"

// proxyCheck looks at the proxy as the loader does at everything.
type proxyCheck struct{ *loader }

// checkAll refuses a proxy that few operators mean.
func (l proxyCheck) checkAll() {
	n := l.valueAt("proxy")
	if n == nil || n.kind != mappingNode {
		return
	}
	l.checkUpstreams("openai", n.get("openai"), l.cfg.Proxy.OpenAI)
	l.checkUpstreams("anthropic", n.get("anthropic"), l.cfg.Proxy.Anthropic)
	l.checkTools(n.get("tools"))
	if text := n.get("notice"); l.becameValue(text, l.cfg.Proxy.Notice) {
		if err := notice.Check(l.cfg.Proxy.Notice); err != nil {
			l.out.add(text.pos, "proxy.notice can't be used: %v", err)
		}
	}
	if local := n.get("local"); local != nil && l.cfg.Proxy.Local {
		l.checkLocal(local)
	}
	if l.cfg.Proxy.Mode != ProxyOff && n.get("openai") == nil && n.get("anthropic") == nil {
		l.out.add(n.pos, "proxy has no upstream; write openai: [{url: \"https://api.openai.com/v1\"}], or anthropic: "+
			"[{url: \"https://api.anthropic.com\"}]")
	}
}

// checkLocal refuses callers without a token where they could come from elsewhere, or use the operator's keys.
func (l proxyCheck) checkLocal(n *node) {
	if !l.cfg.Server.IsLoopback() {
		l.out.add(n.pos, "proxy.local lets callers in without a token, and server.listen is reached from other machines; remove it")
	}
	for _, u := range l.cfg.Proxy.Upstreams() {
		if u.APIKey.IsSet() || u.Credential != "" {
			l.out.add(n.pos, "proxy.local lets callers in without a token, and they would use the key of an upstream; remove one of both")
			return
		}
	}
}

// checkUpstreams refuses addresses that are none, and keys from two places.
func (l proxyCheck) checkUpstreams(key string, list *node, ups []ProxyUpstream) {
	for i, n := range listItems(list) {
		if n.kind != mappingNode || i >= len(ups) {
			continue
		}
		u := ups[i]
		if at := n.get("url"); l.becameValue(at, u.URL) {
			if msg := upstreamMistake(u.URL); msg != "" {
				l.out.add(at.pos, "proxy.%s[%d].url %s", key, i, msg)
			}
		}
		at := n.get("credential")
		switch _, known := l.cfg.Credentials[u.Credential]; {
		case at == nil || u.Credential == "":
		case u.APIKey.IsSet():
			l.out.add(at.pos, "proxy.%s[%d] has an api_key and a credential; remove one", key, i)
		case !known:
			l.out.add(at.pos, "proxy.%s[%d].credential names none that is under credentials", key, i)
		}
	}
}

// upstreamMistake says what is wrong with the address of an upstream.
func upstreamMistake(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "" || u.Scheme != "http" && u.Scheme != "https" || !validTarget(u):
		return "must be an address such as https://api.openai.com/v1"
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "must have no user, query or fragment; write the key as api_key"
	}
	return ""
}

// checkTools refuses entries that no tool can meet.
func (l proxyCheck) checkTools(list *node) {
	items := listItems(list)
	for i, t := range l.cfg.Proxy.Tools {
		if i >= len(items) || items[i].kind != mappingNode || t.Tool == "" {
			continue
		}
		at := items[i].get("tool").pos
		name, ok := skills.NameTool(t.Tool)
		if !ok && !t.IsPattern() {
			l.out.add(at, "proxy.tools[%d].tool is too long", i)
		}
		if _, twice := l.names[name]; twice && !t.IsPattern() {
			l.out.add(at, "proxy.tools[%d].tool is the skill %s under skills already; remove one", i, quoteWord(name))
		}
		for j, earlier := range l.cfg.Proxy.Tools[:i] {
			if earlier.Tool != "" && (earlier.Tool == t.Tool || !t.IsPattern() && earlier.Matches(t.Tool) || earlier.Tool == "*") {
				l.out.add(at, "proxy.tools[%d] matches nothing: proxy.tools[%d] comes first; put it before that one, or remove it", i, j)
				break
			}
		}
	}
}
