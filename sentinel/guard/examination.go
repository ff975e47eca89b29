package guard

import (
	"slices"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// examination is one look of a guard at what a call touches.
type examination struct {
	guard  *Guard
	effect skills.Effect
	// denies are what is against the call, asks what a person should see first.
	denies, asks findings
}

// judgeTouch judges everything that the call touches.
func (x *examination) judgeTouch(t touch.Touch) {
	for _, d := range t.Dangers {
		x.denies.add(dangerCode(d.Code), d.Code, d.Arg)
	}
	for _, p := range t.Paths {
		x.judgePath(p)
		x.judgeExcess(p)
	}
	for _, d := range t.Injected {
		if d.Code == touch.ShellCommand {
			x.denies.add(CodeInjected, d.Code, d.Arg)
		} else {
			x.asks.add(CodeInjected, d.Code, d.Arg)
		}
	}
	for _, d := range t.Changes {
		if x.effect == skills.Read || touch.Removes(d.Code) && declaresNoLoss(x.effect) {
			x.denies.add(CodeExceeded, d.Code, d.Arg)
		}
	}
	for _, h := range t.Hosts {
		x.judgeHost(h, t.Commands)
	}
	for _, arg := range t.Unparsed {
		x.denies.add(CodeUnparsed, "unparsed", arg)
	}
	for _, d := range t.Doubts {
		if code := doubtCode(d.Code); code == CodeDestructive && declaresNoLoss(x.effect) {
			x.denies.add(CodeExceeded, d.Code, d.Arg)
		} else {
			x.asks.add(code, d.Code, d.Arg)
		}
	}
	for _, d := range t.Unread {
		x.asks.add(CodeUnread, d.Code, d.Arg)
	}
	for _, arg := range t.Incomplete {
		x.asks.add(CodeUnparsed, "incomplete", arg)
	}
}

// judgePath looks at one path under both of its names.
func (x *examination) judgePath(p touch.Path) {
	g := x.guard
	names := []string{p.Clean}
	if p.Real != p.Clean {
		names = append(names, p.Real)
	}
	for _, n := range names {
		own := (p.Home || p.Shell && p.Access == touch.Mention) && isWithin(n, g.home)
		parts := splitPath(n)
		if signal := findForbidden(parts, p, own); signal != "" {
			switch freedomToRead(signal, n, p) {
			case asked:
				x.asks.add(CodeSensitive, signal, p.Arg)
			case refused:
				x.denies.add(CodeForbidden, signal, p.Arg)
			}
		} else if signal, ask := g.findSensitive(n, parts, p, x.effect); signal != "" && ask {
			if signal != PlaceLater || !p.Inert { // else it is known what is written there
				x.asks.add(CodeSensitive, signal, p.Arg)
			}
		} else if signal != "" {
			x.denies.add(CodeForbidden, signal, p.Arg)
		} else if g.isAccountFileInRoot(n) {
			x.denies.add(CodeForbidden, PlaceAccounts, p.Arg)
		}
		if signal, ask := g.findInFolder(n, p); signal != "" && ask {
			x.asks.add(CodeSensitive, signal, p.Arg)
		} else if signal != "" {
			x.denies.add(CodeForbidden, signal, p.Arg)
		}
		if g.matchesForbidden(n) {
			x.denies.add(CodeForbidden, PlaceConfigured, p.Arg)
		}
		if g.shieldsPath(n, p, x.effect) {
			x.denies.add(CodeProtected, "own_file", p.Arg)
		}
	}
	if p.Declared && len(g.roots) > 0 && (p.Unplaced || !g.isInRoots(p.Clean) || !g.isInRoots(p.Real)) {
		x.denies.add(CodeOutside, "outside_roots", p.Arg)
	}
}

// judgeHost looks at one host that the call would reach. A name that resolves to a
// private address is the dialer's to refuse.
func (x *examination) judgeHost(h touch.Host, commands []touch.Command) {
	signal := [...]string{"", "loopback", "private", "metadata"}[h.Zone]
	switch {
	case h.Zone == touch.Metadata:
		x.denies.add(CodePrivateHost, signal, h.Arg)
	case h.Zone == touch.Open || h.Inside || slices.Contains(x.guard.hosts, h.Name):
	case !h.Shell:
		x.denies.add(CodePrivateHost, signal, h.Arg)
	case h.Zone == touch.Private && !isThisMachine(h.Name) && !trustsNoNetwork(h, commands):
		x.asks.add(CodePrivateHost, signal, h.Arg)
	}
}

// judgeExcess looks for a command line that does more to a file than its skill
// says it does: one that only reads writes nothing, and one that only creates
// or modifies removes nothing. A move keeps what it moves.
func (x *examination) judgeExcess(p touch.Path) {
	if !p.Shell || !declaresNoLoss(x.effect) || keepsNothing(p.Clean) {
		return
	}
	removes := p.Access.Has(touch.Delete) && !p.Access.Has(touch.Read)
	switch {
	case removes:
		x.denies.add(CodeExceeded, "removes", p.Arg)
	case x.effect == skills.Read && p.Access&(touch.Write|touch.Delete) != 0:
		x.denies.add(CodeExceeded, "writes", p.Arg)
	}
}

// declaresNoLoss reports whether a skill declares less than the loss of data.
func declaresNoLoss(e skills.Effect) bool {
	return e == skills.Read || e == skills.Create || e == skills.Modify
}

// keepsNothing reports whether nothing stays of what is written to a path.
func keepsNothing(p string) bool {
	return slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2", "/dev/fd/63"}, p)
}
