package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"net/url"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/skills"
)

// reservedDomain begins the names of the orchestrator's own calls. The program
// tells its calls by this beginning. So no file may declare a skill under it,
// whether or not there is such a call today.
const reservedDomain = "agent."

// orchestratorCalls are the calls that the program makes itself: the orchestrator, and
// the checkpoint. They pass the same rules as skills, so rules may name them.
var orchestratorCalls = []string{"agent.dispatch", "agent.update", "agent.extend", "agent.elevate", skills.CommitName}

// checkAll checks what no single value shows: references, rules, paths.
func (l *loader) checkAll() {
	for name, m := range l.cfg.Models {
		m.Name = name
		l.cfg.Models[name] = m
	}
	l.checkRoles()
	l.checkRules()
	l.checkWho()
	l.checkNotify()
	l.checkAlerts()
	l.checkAnchors()
	assistantsCheck{l}.checkAll()
	proxyCheck{l}.checkAll()
	intentCheck{l}.checkAll()
	l.checkTests()
	l.checkServer()
	l.checkLimitStore()
	l.checkTelemetry()
	l.checkTargets()
	l.checkPrices()
	l.checkReview()
	l.resolvePaths()
	l.checkCredentials()
	l.checkRoots()
}

// checkRoles refuses roles whose models aren't under models.
func (l *loader) checkRoles() {
	roles := l.valueAt("roles")
	if roles == nil || roles.kind != mappingNode {
		return
	}
	for i := range roles.entries {
		e := &roles.entries[i]
		if _, known := l.cfg.Roles[e.key]; known {
			l.checkModelNames("roles."+e.key, e.val)
		}
	}
}

// checkModelNames refuses models that aren't under models, where one or a list
// of them is named.
func (l *loader) checkModelNames(path string, val *node) {
	if models := l.valueAt("models"); models != nil && models.kind != mappingNode {
		return // reported, and which models there are isn't known
	}
	known := slices.Sorted(maps.Keys(l.cfg.Models))
	list := []*node{val}
	if val.kind == listNode {
		list = val.items
	}
	for _, n := range list {
		if n.kind != scalarNode || n.bad || n.scalarKind() != textScalar || n.text == "" || slices.Contains(known, n.text) {
			continue
		}
		if n.outside {
			l.out.add(n.pos, "%s names a model that isn't under models", path)
			continue
		}
		l.out.add(n.pos, "%s: %s", path, unknownWord("model", n.text, known))
	}
}

// checkRules numbers the rules and refuses those that no call can meet.
func (l *loader) checkRules() {
	list := l.valueAt("permissions")
	if list == nil || list.kind != listNode {
		return
	}
	known := l.knownSkills()
	ids := map[string]Position{}
	for i := range l.cfg.Permissions {
		r, n := &l.cfg.Permissions[i], list.items[i]
		r.Pos = n.pos
		if r.ID == "" {
			r.ID = "rule-" + strconv.Itoa(i+1)
		}
		at := n.pos
		if id := n.get("id"); id != nil {
			at = id.pos
		}
		if first, twice := ids[r.ID]; twice {
			l.out.add(at, "permissions[%d]: another rule has the id %q already, at %s; give one of them another id", i, r.ID, first)
		}
		ids[r.ID] = at
		if n.kind == mappingNode {
			l.checkModify(i, r, n)
		}
		if r.Skill != "" {
			l.checkPattern(n.get("skill"), known)
		}
	}
}

// checkWho refuses rules of who may approve that no call can meet, or that nothing reads.
func (l *loader) checkWho() {
	list := l.valueAt("approvals", "who")
	if list == nil || list.kind != listNode {
		return
	}
	if !l.cfg.Approvals.Inbox {
		l.out.add(list.pos, "approvals.who is for the inbox; add inbox: true beside it, or remove it")
	}
	known := l.knownSkills()
	for i, n := range list.items {
		if i < len(l.cfg.Approvals.Who) && l.cfg.Approvals.Who[i].Skill != "" {
			l.checkPattern(n.get("skill"), known)
		}
	}
}

// checkNotify refuses channels that nothing feeds, that have no place or two, or one name.
func (l *loader) checkNotify() {
	list := l.valueAt("approvals", "notify")
	if list == nil || list.kind != listNode {
		return
	}
	if !l.cfg.Approvals.Inbox && l.valueAt("alerts") == nil {
		l.out.add(list.pos, "approvals.notify is for the inbox and for alerts; add inbox: true beside it, or remove it")
	}
	known, names := l.knownSkills(), map[string]Position{}
	for i, n := range list.items {
		if n.kind != mappingNode || i >= len(l.cfg.Approvals.Notify) {
			continue
		}
		places := 0
		for _, kind := range notifyKinds {
			if n.get(kind) != nil {
				places++
			}
		}
		if places != 1 {
			l.out.add(n.pos, "approvals.notify[%d] has %d places to send to and needs one; write one of smtp, slack, teams and webhook", i, places)
		}
		c := l.cfg.Approvals.Notify[i]
		if first, twice := names[c.Name]; twice && c.Name != "" {
			l.out.add(n.get("name").pos, "approvals.notify[%d]: another channel has the name %q already, at %s; give one of them another name",
				i, c.Name, first)
		}
		names[c.Name] = n.pos
		if skills := n.get("skills"); skills != nil && skills.kind == listNode {
			for _, s := range skills.items {
				l.checkPattern(s, known)
			}
		}
	}
}

// checkAlerts refuses alerts that no channel is told of, keys that do nothing, and names that are there twice.
func (l *loader) checkAlerts() {
	list := l.valueAt("alerts")
	if list == nil || list.kind != listNode {
		return
	}
	channels := []string{}
	for _, c := range l.cfg.Approvals.Notify {
		channels = append(channels, c.Name)
	}
	if len(channels) == 0 && len(list.items) > 0 {
		l.out.add(list.pos, "alerts has no channel to tell; add one under approvals.notify")
	}
	names := map[string]Position{}
	for i, n := range list.items {
		if n.kind != mappingNode || i >= len(l.cfg.Alerts) {
			continue
		}
		a := l.cfg.Alerts[i]
		if first, twice := names[a.Name]; twice && a.Name != "" {
			l.out.add(n.get("name").pos, "alerts[%d]: another alert has the name %q already, at %s; give one of them another name", i, a.Name, first)
		}
		names[a.Name] = n.pos
		for key, watches := range alertKeys {
			if v := n.get(key); v != nil && a.Watch != "" && !slices.Contains(watches, a.Watch) {
				l.out.add(v.pos, "alerts[%d].%s does nothing with watch: %s; remove it", i, key, a.Watch)
			}
		}
		if told := n.get("channels"); told != nil && told.kind == listNode && len(channels) > 0 {
			for _, c := range told.items {
				if !slices.Contains(channels, c.text) {
					l.out.add(c.pos, "alerts[%d]: approvals.notify has no channel %q%s", i, c.text, suggestWord(c, channels))
				}
			}
		}
	}
}

// checkAnchors refuses anchors that have no place or two, or one name.
func (l *loader) checkAnchors() {
	list := l.valueAt("ledger", "anchors")
	if list == nil || list.kind != listNode {
		return
	}
	names := map[string]Position{}
	for i, n := range list.items {
		if n.kind != mappingNode || i >= len(l.cfg.Ledger.Anchors) {
			continue
		}
		places := 0
		for _, kind := range anchorKinds {
			if n.get(kind) != nil {
				places++
			}
		}
		if places != 1 {
			l.out.add(n.pos, "ledger.anchors[%d] has %d places for heads and needs one; write one of %s", i, places,
				strings.Join(anchorKinds, ", "))
		}
		a := l.cfg.Ledger.Anchors[i]
		if first, twice := names[a.Name]; twice && a.Name != "" {
			l.out.add(n.get("name").pos, "ledger.anchors[%d]: another anchor has the name %q already, at %s; give one of them another name",
				i, a.Name, first)
		}
		names[a.Name] = n.pos
	}
}

// checkModify refuses a rule that rewrites and doesn't say what, and the reverse.
func (l *loader) checkModify(i int, r *Rule, n *node) {
	list := n.get("modify")
	switch {
	case r.Then == Modify && list == nil:
		l.out.add(n.get("then").pos, "permissions[%d]: then is modify and nothing says what; add modify: [{set: …, to: …}]", i)
	case r.Then != Modify && r.Then != "" && list != nil:
		l.out.add(list.pos, "permissions[%d].modify is for rules that say then: modify", i)
	}
}

// checkPattern refuses a rule that no skill can meet.
func (l *loader) checkPattern(n *node, known []string) {
	pat := n.text
	domain, isDomain := strings.CutSuffix(pat, ".*")
	switch {
	case pat == "*":
		return
	case isDomain && skills.ValidName(domain+".x"):
	case !skills.ValidName(pat):
		l.out.add(n.pos, "skill must be a skill's name such as email.send, a domain such as email.*, or *; not %s", l.quoteNode(n))
		return
	}
	if l.namesMissing {
		return // a file that couldn't be read may have it
	}
	if !isDomain && !slices.Contains(known, pat) {
		l.out.add(n.pos, "%s%s", l.hideUnknown(n, "skill", pat, slices.DeleteFunc(known, func(k string) bool { return k == someTool })),
			adviseTool(pat, l.cfg.Proxy.IsOn()))
	}
	if isDomain && !slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, domain+".") }) {
		domains := map[string]bool{}
		for _, k := range known {
			domains[k[:strings.LastIndexByte(k, '.')]+".*"] = true
		}
		l.out.add(n.pos, "the rule can match nothing: %s", l.hideUnknown(n, "domain", pat, slices.Sorted(maps.Keys(domains))))
	}
}

// adviseTool says how rules name tools of the proxy's clients.
func adviseTool(name string, proxy bool) string {
	if !proxy || !strings.HasPrefix(name, "tool.") {
		return ""
	}
	return "; rules may name tools that proxy.tools has by their very names"
}

// hideUnknown says that a word isn't known, without showing what the environment
// gave.
func (l *loader) hideUnknown(n *node, what, got string, known []string) string {
	if n.outside {
		return "unknown " + what + " given by the environment"
	}
	return unknownWord(what, got, known)
}

// checkServer refuses a server that few operators mean: reached from elsewhere without TLS, names
// that are none, an issuer whose tokens could do nothing.
func (l *loader) checkServer() {
	l.checkListen()
	s := l.valueAt("server")
	if s == nil || s.kind != mappingNode {
		return
	}
	if n := s.get("public_url"); l.becameValue(n, l.cfg.Server.PublicURL) {
		if msg := publicURLMistake(n.text); msg != "" {
			l.out.add(n.pos, "server.public_url %s", msg)
		}
	}
	l.checkServerNames(s)
	l.checkServerReach(s)
	l.checkIssuer(nodeBelow(s, "auth", "oidc"))
}

// checkServerNames refuses hosts and networks that are none.
func (l *loader) checkServerNames(s *node) {
	for i, n := range listItems(s.get("hosts")) {
		if host, _, ok := listenAddress(n.text); !validHost(n.text) && (!ok || host == "") && !n.bad && n.kind == scalarNode {
			l.out.add(n.pos, "server.hosts[%d] must be a host such as vedette.internal, with a port or without%s", i, describeGot(n))
		}
	}
	for i, n := range listItems(s.get("proxies")) {
		if _, ok := parseNetwork(n.text); !ok && !n.bad && n.kind == scalarNode {
			l.out.add(n.pos, "server.proxies[%d] must be a network such as 10.0.0.0/8, or one address%s", i, describeGot(n))
		}
	}
}

// checkServerReach refuses a server that is reached from elsewhere without TLS.
func (l *loader) checkServerReach(s *node) {
	tls := s.get("tls")
	for _, key := range []string{"cert", "key"} {
		if tls != nil && tls.kind == mappingNode && tls.get(key) == nil {
			l.out.add(tls.pos, "server.tls.%s is missing; a certificate needs its file and its key's", key)
		}
	}
	n := s.get("listen")
	_, _, ok := listenAddress(l.cfg.Server.Listen)
	if n == nil || !ok || l.cfg.Server.IsLoopback() {
		return
	}
	if tls == nil && s.get("proxies") == nil {
		l.out.add(n.pos, "server.listen is reached from other machines, and tokens would go there in the open; "+
			"write tls: {cert: …, key: …}, or proxies: [NETWORK] where a proxy ends TLS, or listen on 127.0.0.1")
	}
	if s.get("public_url") == nil {
		l.out.add(n.pos, "server.public_url is missing: a server that is reached from other machines must know its name; "+
			"write public_url: https://vedette.example.com")
	}
}

// checkIssuer refuses an issuer whose tokens could do nothing, or everything.
func (l *loader) checkIssuer(n *node) {
	if n == nil || n.kind != mappingNode {
		return
	}
	for _, key := range []string{"issuer", "audience"} {
		if n.get(key) == nil {
			l.out.add(n.pos, "server.auth.oidc.%s is missing", key)
		}
	}
	if is := n.get("issuer"); l.becameValue(is, l.cfg.Server.Auth.OIDC.Issuer) {
		u, err := url.Parse(is.text)
		if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
			u.Scheme != "https" && (u.Scheme != "http" || !isThisMachine(u.Hostname())) {
			l.out.add(is.pos, "server.auth.oidc.issuer must be an https address, or http on this machine, without user and query")
		}
	}
	if n.get("scopes") == nil && n.get("groups") == nil {
		l.out.add(n.pos, "server.auth.oidc says nowhere what its users may do; write groups: [{group: staff, scopes: [chat]}], or scopes: [chat]")
	}
	l.checkSignIn(n.get("sign_in"))
	seen := map[string]bool{}
	for i, g := range l.cfg.Server.Auth.OIDC.Groups {
		if seen[g.Group] && i < len(listItems(n.get("groups"))) {
			l.out.add(n.get("groups").items[i].pos, "server.auth.oidc.groups names the group %s twice", quoteWord(g.Group))
		}
		seen[g.Group] = true
	}
}

// checkSignIn refuses a client that the issuer can't know.
func (l *loader) checkSignIn(n *node) {
	if n == nil || n.kind != mappingNode {
		return
	}
	if n.get("client_id") == nil {
		l.out.add(n.pos, "server.auth.oidc.sign_in.client_id is missing: the issuer knows the server by it")
	}
	if file := n.get("client_secret_file"); file != nil && n.get("client_secret") != nil {
		l.out.add(file.pos, "server.auth.oidc.sign_in has client_secret and client_secret_file; write one of them")
	}
}

// checkListen refuses an address that no server could listen on.
func (l *loader) checkListen() {
	n := l.valueAt("server", "listen")
	if n == nil || n.bad || n.kind != scalarNode || l.cfg.Server.Listen != n.text {
		return
	}
	if _, _, ok := listenAddress(n.text); !ok {
		l.out.add(n.pos, "server.listen must be host:port such as 127.0.0.1:8420%s", describeGot(n))
	}
}

// userPlace stands for the user in the pattern of a credential.
const userPlace = "{user}"

// checkCredentials refuses a credential with no place or more than one, and one
// that all users would share.
func (l *loader) checkCredentials() {
	all := l.valueAt("credentials")
	if all == nil || all.kind != mappingNode {
		return
	}
	for i := range all.entries {
		e := &all.entries[i]
		c, known := l.cfg.Credentials[e.key]
		if !known || e.val.kind != mappingNode {
			continue
		}
		// A path counts once it is checked: what follows from a refused one is no
		// mistake of its own.
		l.cfg.Credentials[e.key] = Credential{Env: c.Env, Program: c.Program}
		given := 0
		for _, set := range []bool{c.Env != "", c.File != "", c.Program} {
			if set {
				given++
			}
		}
		if given != 1 {
			l.out.add(e.pos, "credentials.%s must have exactly one of env, file and program: true; it has %d", e.key, given)
			continue
		}
		switch {
		case c.Env != "":
			l.checkCredentialEnv(e.key, c, e.val.get("env"))
		case c.File != "":
			l.checkCredentialFile(e.key, c, e.val.get("file"))
		}
	}
}

// checkCredentialEnv refuses a variable's name that isn't one for each user.
func (l *loader) checkCredentialEnv(name string, c Credential, n *node) {
	if n == nil || n.bad {
		return
	}
	if strings.Count(c.Env, userPlace) != 1 || !isEnvName(strings.Replace(c.Env, userPlace, "x", 1)) {
		l.out.add(n.pos, "credentials.%s.env must be a variable's name with one %s in it, such as GITHUB_TOKEN_%s%s",
			name, userPlace, userPlace, describeGot(n))
	}
}

// checkCredentialFile resolves a credential's path. It refuses a path that isn't
// one for each user, and one beside a folder of agents.
func (l *loader) checkCredentialFile(name string, c Credential, n *node) {
	if n == nil || n.bad {
		return
	}
	if strings.Count(c.File, userPlace) != 1 || !strings.Contains(filepath.Base(c.File), userPlace) {
		l.out.add(n.pos, "credentials.%s.file must have one %s in the last part of its path, such as ./credentials/%s/%s%s",
			name, userPlace, name, userPlace, describeGot(n))
		return
	}
	c.File = l.absPath(c.File, n)
	l.cfg.Credentials[name] = c
	dir := realPath(filepath.Dir(c.File))
	for i, root := range l.cfg.Guard.Roots {
		if at := l.guardListItem("roots", i); root != "" && at != nil && liesInFolder(dir, realPath(root)) {
			l.out.add(at.pos, "guard.roots[%d] lies in the folder of the credentials %s; give agents a folder of their own", i, name)
		}
	}
}

// checkReview refuses settings of the review that seem to hold and don't.
func (l *loader) checkReview() {
	l.checkSchemaless()
	s := l.valueAt("sentinel")
	if s == nil || s.kind != mappingNode {
		return
	}
	if n := s.get("reject_below"); n != nil && l.cfg.Sentinel.Answer != AnswerGraded {
		l.out.add(n.pos, "sentinel.reject_below is for answer: graded, and the answer is %s", l.cfg.Sentinel.Answer)
	}
	l.checkModes(s)
	l.checkEscalate(s)
	l.readPrompt(s.get("prompt"))
}

// checkModes refuses a mode for a skill that isn't there.
func (l *loader) checkModes(s *node) {
	n := s.get("modes")
	if n == nil || n.kind != mappingNode {
		return
	}
	bySkill := n.get("skill")
	if bySkill == nil || bySkill.kind != mappingNode || l.namesMissing {
		return
	}
	known := l.knownSkills()
	for i := range bySkill.entries {
		if e := &bySkill.entries[i]; skills.ValidName(e.key) && !slices.Contains(known, e.key) {
			l.out.add(e.pos, "sentinel.modes.skill: %s", unknownWord("skill", e.key, known))
		}
	}
}

// knownSkills are the names that a rule may give.
func (l *loader) knownSkills() []string {
	known := append(slices.Collect(maps.Keys(l.names)), orchestratorCalls...)
	known = append(known, l.opts.KnownSkills...)
	known = append(known, l.cfg.Proxy.KnownTools()...)
	slices.Sort(known)
	return known
}

// checkEscalate refuses a second opinion of no model, or of a model of the review.
func (l *loader) checkEscalate(s *node) {
	n := s.get("escalate")
	if n == nil || n.kind != mappingNode {
		return
	}
	to := n.get("to")
	if to == nil {
		l.out.add(n.pos, "sentinel.escalate.to is missing; name the stronger model")
		return
	}
	l.checkModelNames("sentinel.escalate.to", to)
	for _, name := range l.cfg.Sentinel.Escalate.To {
		if slices.Contains(l.cfg.Roles["sentinel"], name) {
			l.out.add(to.pos, "sentinel.escalate.to: %s is in roles.sentinel already; a second opinion is another model's", quoteWord(name))
		}
	}
}

// checkSchemaless refuses a model of the review that can't be held to a shape. It
// refuses a way to hold it that is never used.
func (l *loader) checkSchemaless() {
	models := l.valueAt("models")
	if models == nil || models.kind != mappingNode {
		return
	}
	review := append(slices.Clone(l.cfg.Roles["sentinel"]), l.cfg.Sentinel.Escalate.To...)
	if m := l.cfg.Sentinel.Modes; l.cfg.Sentinel.Mode == Off && len(m.Effect)+len(m.Skill) == 0 {
		review = nil
	}
	for i := range models.entries {
		e := &models.entries[i]
		m, known := l.cfg.Models[e.key]
		switch {
		case !known || e.val.kind != mappingNode:
		case m.Schemaless != "" && m.JSONSchema:
			l.out.add(e.val.get("schemaless").pos,
				"models.%s.schemaless is for servers without json_schema; write json_schema: false beside it, or remove it", e.key)
		case m.Schemaless == "tool" && !m.Tools:
			l.out.add(e.val.get("schemaless").pos, "models.%s.schemaless is tool, and the model takes no tools; write json_object", e.key)
		case m.Schemaless == "" && !m.JSONSchema && slices.Contains(review, e.key):
			l.out.add(e.pos, "models.%s is in the review and has json_schema: false; say how it answers: schemaless: tool, or json_object", e.key)
		}
	}
}

// checkTests checks of tests what no single value shows. Which skills there are
// doesn't matter: a test may expect that an unknown one is denied.
func (l *loader) checkTests() {
	list := l.valueAt("tests")
	if list == nil || list.kind != listNode {
		return
	}
	names := map[string]Position{}
	for i := range l.cfg.Tests {
		t, n := &l.cfg.Tests[i], list.items[i]
		t.Pos = n.pos
		if n.kind != mappingNode {
			continue
		}
		if name := n.get("name"); name != nil && t.Name != "" {
			if first, twice := names[t.Name]; twice {
				l.out.add(name.pos, "tests[%d]: another test has this name already, at %s", i, first)
			}
			names[t.Name] = name.pos
		}
		if at := n.get("time"); at != nil && t.Time != "" {
			var err error
			if t.At, err = time.Parse(time.RFC3339, t.Time); err != nil {
				l.out.add(at.pos, "tests[%d].time must be a time such as 2026-01-31T18:00:00Z%s", i, describeGot(at))
			}
		}
		l.checkObject(n.get("call"), "args", "tests[%d].call.args", i)
		l.checkObject(n, "args", "tests[%d].args", i)
		if steps := n.get("history"); steps != nil && steps.kind == listNode {
			for j, s := range steps.items {
				l.checkObject(s, "args", "tests[%d].history[%d].args", i, j)
			}
		}
		if t.Expect == Allow && (t.Code != "" || t.Gate != "") {
			l.out.add(n.pos, "tests[%d]: an allowed call has no code and no gate; remove them", i)
		}
	}
}

// checkObject refuses arguments that are no mapping.
func (l *loader) checkObject(n *node, key, path string, at ...any) {
	if n == nil || n.kind != mappingNode {
		return
	}
	if v := n.get(key); v != nil && !v.bad && !v.isNull() && v.kind != mappingNode {
		l.out.add(v.pos, path+" must be a mapping of arguments to values%s", append(at, describeGot(v))...)
	}
}

// checkPrices refuses a budget in money beside a model without a price. Such a
// budget would count the model's calls as free.
func (l *loader) checkPrices() {
	models := l.valueAt("models")
	where := "limits has a cost"
	if !l.cfg.Limits.Priced() {
		where = "sentinel.budget has a cost"
	}
	if !l.cfg.Limits.Priced() && !l.cfg.Sentinel.Budget.Priced() || models == nil || models.kind != mappingNode {
		return
	}
	for i := range models.entries {
		e := &models.entries[i]
		if _, known := l.cfg.Models[e.key]; known && e.val.kind == mappingNode && e.val.get("price") == nil {
			l.out.add(e.pos, "models.%s has no price and %s; write price: {input: 0.25, output: 2.00}, for a million tokens", e.key, where)
		}
	}
}

// checkLimitStore refuses a server without an address. It refuses the keys of a
// server where no driver is named: the limits would count in memory.
func (l *loader) checkLimitStore() {
	n := l.valueAt("limits", "store")
	if n == nil || n.kind != mappingNode {
		return
	}
	driver := n.get("driver")
	if l.cfg.Limits.Store.Driver == LimitsOnRedis && n.get("url") == nil {
		l.out.add(driver.pos, `limits.store.url is missing; write url: "${REDIS_URL}", such as redis://host:6379`)
	}
	if driver != nil {
		return
	}
	for i := range n.entries {
		if e := &n.entries[i]; slices.Contains([]string{"url", "prefix", "timeout", "when_away"}, e.key) {
			l.out.add(e.pos, "limits.store.%s is for driver redis, and there is no driver; write driver: redis", e.key)
		}
	}
}

// checkTargets refuses addresses whose host and port nothing could be sent to. It
// looks at models and at the store of limits. Their clients check the rest.
// Addresses may hold passwords, so no message repeats one.
func (l *loader) checkTargets() {
	if models := l.valueAt("models"); models != nil && models.kind == mappingNode {
		for i := range models.entries {
			e := &models.entries[i]
			n := nodeBelow(e.val, "base_url")
			if l.becameValue(n, l.cfg.Models[e.key].BaseURL) && !mayBeReachable(n.text) {
				l.out.add(n.pos, "models.%s.base_url must name a host, and a port from 1 to 65535 if any, such as http://127.0.0.1:8080/v1", e.key)
			}
		}
	}
	if n := nodeBelow(l.valueAt("limits", "store"), "url"); l.becameValue(n, l.cfg.Limits.Store.URL.Reveal()) && !mayBeReachable(n.text) {
		l.out.add(n.pos, "limits.store.url must name a host, and a port from 1 to 65535 if any, such as redis://host:6379")
	}
}

// checkTelemetry refuses addresses that no server could listen on or receive at.
// It refuses a share of traced turns without a collector.
func (l *loader) checkTelemetry() {
	t := l.valueAt("telemetry")
	if t == nil || t.kind != mappingNode {
		return
	}
	if n := nodeBelow(t, "metrics", "listen"); l.becameValue(n, l.cfg.Telemetry.Metrics.Listen) {
		l.checkMetricsListen(n)
	}
	otlp := nodeBelow(t, "traces", "otlp")
	if l.becameValue(otlp, l.cfg.Telemetry.Traces.OTLP) {
		if msg := collectorMistake(otlp.text); msg != "" {
			l.out.add(otlp.pos, "telemetry.traces.otlp %s", msg)
		}
	}
	if n := nodeBelow(t, "traces", "sample"); n != nil && otlp == nil {
		l.out.add(n.pos, "telemetry.traces.sample is a share of spans that go nowhere; write otlp: http://collector:4318")
	}
}

// checkMetricsListen wants a host: without one the server listens on every
// interface, and few operators mean that.
func (l *loader) checkMetricsListen(n *node) {
	host, port, ok := listenAddress(n.text)
	switch {
	case !ok:
		l.out.add(n.pos, "telemetry.metrics.listen must be host:port such as 127.0.0.1:9464%s", describeGot(n))
	case host == "":
		l.out.add(n.pos,
			"telemetry.metrics.listen names no host, which is every interface; write 127.0.0.1:%s, or 0.0.0.0:%s if that is meant", port, port)
	}
}

// collectorMistake says what is wrong with a collector's address. It doesn't
// repeat the address, which may hold a password.
func collectorMistake(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return "must be an address such as http://collector:4318"
	case u.Scheme != "http" && u.Scheme != "https":
		return "must begin with http:// or https://; gRPC isn't spoken"
	case !validTarget(u):
		return "must name a host, and a port from 1 to 65535, such as http://collector:4318"
	case u.User != nil:
		return "holds a user or password; give it in the environment, as OTEL_EXPORTER_OTLP_HEADERS"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "holds a query or a fragment; give the address alone"
	}
	return ""
}

// becameValue reports whether the node is a text that became the value. An empty
// text didn't, and was reported.
func (l *loader) becameValue(n *node, value string) bool {
	return n != nil && !n.bad && n.kind == scalarNode && n.text != "" && n.text == value
}

// checkUnseen reports characters that a person doesn't see and a model reads. Such
// are marks that turn the direction of writing, tags, joiners, fillers. They can
// hide words in a prompt from the operator who reviews it. The mistake names the
// first such character.
func (l *loader) checkUnseen(name string, src []byte) bool {
	found, first, at := 0, rune(0), Position{}
	line, column := 1, 1
	before := rune('\n')
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		i += size
		after, _ := utf8.DecodeRune(src[i:])
		if isInvisible(r) && !belongsToNeighbours(before, r, after) {
			if found++; found == 1 {
				first, at = r, Position{name, line, column}
			}
		}
		before = r
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	switch {
	case found == 1:
		l.out.add(at, "the prompt holds %U here, which people do not see and the model reads; remove it", first)
	case found > 1:
		l.out.add(at, "the prompt holds %U here, which people do not see and the model reads, and %d more follow; remove them", first, found-1)
	}
	return found > 0
}
