package programs

import (
	"regexp"
	"slices"
	"strings"
)

// finishUse works out what follows from all words.
func (r *reader) finishUse() {
	u := r.use
	u.Known, u.Row = true, r.row.name
	u.Rehearsal = u.Rehearsal || slices.ContainsFunc(r.hits, func(h hit) bool { return h.option.rehearses && !isNegation(h.value) })
	r.addOperands()
	r.traits = r.row.traits
	for i := range r.row.clauses {
		if c := &r.row.clauses[i]; c.apply != nil && r.meetsConditions(c.conds) {
			c.apply(r)
		}
	}
	has := func(t trait) bool { return r.traits&t != 0 }
	u.Network, u.Reads, u.Environment = has(network), has(reads), has(environment)
	u.Setup = has(setup)
	u.Dumps, u.Token, u.Rehearsal = has(dumps), has(token), u.Rehearsal || has(rehearsal)
	if r.stdin != nil {
		u.Input, u.InputLang = r.stdin.Input, r.stdin.InputLang
	}
	u.markOperands(has(treeOperands), has(namesOperands))
	u.markSentFiles()
	if r.row.hasTrait(bundleStyle) { // the folders that tar changes to count for what follows
		slices.SortStableFunc(u.Parts, func(a, b Part) int { return a.Arg - b.Arg })
	}
	r.reportUnread()
}

// markSentFiles says that the files go out where the last operand is remote and
// written; a container isn't remote.
func (u *Use) markSentFiles() {
	last := len(u.Parts) - 1
	for last >= 0 && u.Parts[last].Option != "" {
		last--
	}
	if last < 1 || u.Parts[last].Boxed || u.Parts[last].Role != Host && u.Parts[last].Role != URL || u.Parts[last].Access&Write == 0 {
		return
	}
	for i := range last {
		if p := &u.Parts[i]; p.Role == File && p.Option == "" && p.Access&Read != 0 {
			p.Sent = true
		}
	}
}

// markOperands says what holds of all files among the operands that are treated
// as the first one is: not of the target of a copy.
func (u *Use) markOperands(tree, names bool) {
	first := Access(0)
	for i := range u.Parts {
		p := &u.Parts[i]
		if p.Role != File || p.Option != "" {
			continue
		}
		if first == 0 {
			first = p.Access
		}
		if p.Access == first {
			p.Tree, p.Names = p.Tree || tree, p.Names || names
		}
	}
}

func isNegation(value string) bool {
	switch strings.ToLower(value) {
	case "none", "false", "no", "0", "off":
		return true
	}
	return false
}

// retypeValues makes parts of a kind of the values of options.
func (r *reader) retypeValues(options []string, k kind) {
	for i, p := range r.use.Parts {
		if p.Option != "" && slices.Contains(options, p.Option) {
			now := k.Part
			now.Arg, now.From, now.To, now.End, now.Option = p.Arg, p.From, p.To, p.End, p.Option
			r.use.Parts[i] = now
		}
	}
}

func (p Part) isOperand() bool { return p.Role == File && p.Option == "" && p.Arg >= 0 }

// chooseSlots returns the last places of operands whose conditions hold, nil where
// the row has none.
func (r *reader) chooseSlots() []slot {
	for i := len(r.row.clauses) - 1; i >= 0; i-- {
		if c := &r.row.clauses[i]; c.slots != nil && r.meetsConditions(c.conds) {
			return c.slots
		}
	}
	return nil
}

func (r *reader) addOperands() {
	slots := r.chooseSlots()
	ops := r.operands
	if len(slots) == 0 || len(ops) == 0 {
		return
	}
	back := 0 // places behind the one that is repeated
	for i := len(slots) - 1; i >= 0 && !slots[i].each && !slots[i].assign; i-- {
		back++
	}
	if back == len(slots) || slots[len(slots)-1-back].assign {
		back = 0
	}
	s := 0
	for n, i := range ops {
		for s < len(slots) && slots[s].assign && !isAssignment(r.args[i].Text) {
			s++
		}
		if s < len(slots) && slots[s].each && n > 0 && len(ops)-n <= back {
			s = len(slots) - (len(ops) - n)
		}
		if s == len(slots) {
			return
		}
		r.addPart(&slots[s].kind, i, 0, "")
		if !slots[s].each && !slots[s].assign {
			s++
		}
	}
}

// addOptionValue adds the value of an option, whose key may say what it is.
func (r *reader) addOptionValue(k *kind, keys []keyed, i, from int, option string) {
	if len(keys) > 0 {
		if found, at := findKeyedKind(keys, r.args[i].Text[from:]); found != nil {
			r.addPart(&found.kind, i, from+at, option)
			return
		}
	}
	r.addPart(k, i, from, option)
}

// findKeyedKind returns the key that text starts with, and where its value starts.
func findKeyedKind(keys []keyed, text string) (*keyed, int) {
	for i := range keys {
		k := &keys[i]
		if k.key == "" {
			if strings.HasPrefix(text, k.mark) {
				return k, len(k.mark)
			}
			continue
		}
		sep := k.key[len(k.key)-1]
		at := strings.IndexByte(text, sep)
		if blank := strings.IndexByte(text, ' '); sep == '=' && blank > 0 && (at < 0 || blank < at) {
			at = blank // "ProxyCommand nc %h"
		}
		if at < 0 || !matchesKey(k.key[:len(k.key)-1], text[:at]) {
			continue
		}
		at++
		switch {
		case k.kind.Role == Assign:
			return k, 0
		case strings.HasPrefix(text[at:], k.mark):
			return k, at + len(k.mark)
		}
	}
	return nil, 0
}

func matchesKey(pattern, key string) bool {
	return strings.EqualFold(pattern, key) || strings.Contains(pattern, "*") && matchGlob(pattern, strings.ToLower(key))
}

// addPart adds the piece of word i from byte from on.
func (r *reader) addPart(k *kind, i, from int, option string) {
	text := r.args[i].Text[from:]
	p := k.Part
	p.Arg, p.From, p.End, p.Option = i, from, i+1, option
	switch {
	case k.form == allWords:
		p.End = len(r.args)
	case k.form == untilEnd:
		if p.End = r.findCommandEnd(i); p.End == i {
			return
		}
	case k.form == bodyText || k.form == formText:
		r.addRequestBody(p, k.form == formText)
		return
	case k.form == mountText:
		r.addMountedFolder(p)
		return
	case (k.Role == File || k.Role == Script) && isStandardInput(text):
		r.noteInputUse(k)
		return
	case k.Role == File && k.remote && isRemoteFile(text):
		p.Role = Host
		if strings.Contains(text, "://") {
			p.Role = URL
		}
	}
	r.use.Parts = append(r.use.Parts, p)
	r.holds = r.holds || p.Role.weighLoss() > 1 && !k.first
}

// noteInputUse notes what becomes of the input that a word stands for.
func (r *reader) noteInputUse(k *kind) {
	switch {
	case k.Sent:
		r.stdin = &Use{Input: Leaves}
	case k.Role == Script:
		r.stdin = &Use{Input: Runs, InputLang: k.Lang}
	}
}

func isStandardInput(text string) bool {
	return text == "-" || text == "/dev/stdin" || text == "/dev/fd/0" || text == "/proc/self/fd/0"
}

// isRemoteFile reports whether a word is host:path or an address.
func isRemoteFile(text string) bool {
	i := strings.IndexByte(text, ':')
	return i > 0 && !strings.Contains(text[:i], "/") && !(i == 1 && strings.HasPrefix(text[2:], `\`))
}

// addRequestBody adds what a request carries: text, or the files that "@" names in it.
func (r *reader) addRequestBody(p Part, named bool) {
	text := r.args[p.Arg].Text[p.From:]
	at := 0
	if named {
		if at = strings.IndexAny(text, "=@"); at >= 0 && text[at] == '=' {
			at++ // "name=@file"; else "name@file"
		}
	}
	if at < 0 || at >= len(text) || text[at] != '@' && (!named || text[at] != '<') {
		r.use.Parts = append(r.use.Parts, p)
		return
	}
	file := text[at+1:]
	if end := strings.IndexByte(file, ';'); named && end >= 0 {
		file = file[:end]
	}
	if isStandardInput(file) {
		r.noteInputUse(&kind{Part: Part{Sent: true}})
		return
	}
	p.Role, p.Access, p.Sent, p.From = File, Read, true, p.From+at+1
	r.use.Parts = append(r.use.Parts, p)
}

// The ways to name a folder for a container: "type=bind,source=HOST,target=INSIDE"
// and "HOST:INSIDE:ro".
var (
	mountFields = regexp.MustCompile(`^(?:[^/][^,]*,)?(?:source|src)=()([^,]*)`)
	mountInside = regexp.MustCompile(`,(?:target|dst|destination)=([^,]*)`)
	mountWords  = regexp.MustCompile(`^()([^:]*)(?::([^:]*))?`)
	mountReads  = regexp.MustCompile(`[,:](?:readonly|ro)(?:,|$)`)
)

// addMountedFolder adds the folder of this machine that a container sees.
func (r *reader) addMountedFolder(p Part) {
	text := r.args[p.Arg].Text[p.From:]
	at := mountWords.FindStringSubmatchIndex(text)
	if strings.Contains(text, "=") && !strings.HasPrefix(text, "/") {
		if at = mountFields.FindStringSubmatchIndex(text); at == nil {
			return
		}
		if m := mountInside.FindStringSubmatch(text); m != nil {
			p.Inside = m[1]
		}
	} else if at[6] >= 0 {
		p.Inside = text[at[6]:at[7]]
	}
	if mountReads.MatchString(text) {
		p.Access = Read
	}
	host := text[at[4]:at[5]]
	if host == "" || !strings.ContainsAny(host[:1], "/~.$") {
		return // a volume with a name
	}
	p.From, p.To = p.From+at[4], p.From+at[5]
	r.use.Parts = append(r.use.Parts, p)
}

// findCommandEnd returns the index of the word that ends a command of find's.
func (r *reader) findCommandEnd(i int) int {
	for n := i; n < len(r.args); n++ {
		if t := r.args[n].Text; t == ";" || t == `\;` || t == "+" && n > i && r.args[n-1].Text == "{}" {
			return n
		}
	}
	return len(r.args)
}

// meetsConditions reports whether all conditions hold for what was read so far.
func (r *reader) meetsConditions(conds []test) bool {
	return !slices.ContainsFunc(conds, func(holds test) bool { return !holds(r) })
}

// hasAssignmentsAlone reports whether no operand is given but NAME=value.
func (r *reader) hasAssignmentsAlone() bool {
	for _, i := range r.operands {
		if !isAssignment(r.args[i].Text) {
			return false
		}
	}
	return !slices.ContainsFunc(r.use.Parts, func(p Part) bool { return p.Role == Command || p.Role == Line })
}

// reportUnread names the options that the row doesn't know and that stand
// before something that runs.
func (r *reader) reportUnread() {
	if len(r.unread) == 0 || !r.row.runs || r.row.hasTrait(looseStyle) {
		return
	}
	last := -1
	if r.use.Input == Runs {
		last = len(r.args)
	}
	for _, p := range r.use.Parts {
		if p.Role.weighLoss() > 1 && p.Role != Script { // a file runs as it is, whatever stands before it
			last = max(last, p.Arg)
		}
	}
	for _, i := range r.unread {
		if i <= last {
			r.use.Unread = append(r.use.Unread, r.args[i].Text)
		}
	}
}
