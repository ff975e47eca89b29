package story

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/internal/textcut"
)

// TimeLayout is how times are written for people.
const TimeLayout = "2006-01-02T15:04:05.000Z"

const (
	// nameWidth is how wide the names of facts are.
	nameWidth = 13
	// leastWidth is the least width of a text.
	leastWidth = 40
	// maxAuthor is how many bytes of an author are shown.
	maxAuthor = 24
)

// printer writes a story within a width. Its first error ends it.
type printer struct {
	w      io.Writer
	width  int
	colour bool
	err    error
}

// WriteText writes the story for people, in lines of at most width columns. Texts of others are escaped.
func (s Story) WriteText(w io.Writer, width int, colour bool) error {
	p := &printer{w: w, width: max(width, leastWidth), colour: colour}
	p.writeHead(&s)
	if s.About != nil {
		p.writeAsked(&s)
		p.writeSteps(&s)
		p.writeArguments(&s)
		p.writeGates(&s)
		p.writeQuestion(s.Question)
		p.writeEnd(&s)
		p.writeOthers(&s)
		p.writeReadings(&s)
	}
	p.writeRelated(&s)
	return p.err
}

// print writes what is safe to show.
func (p *printer) print(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) section(name string) { p.print("\n%s\n", name) }

// fact writes a name and what it is, folded. Without a value it writes nothing.
func (p *printer) fact(name, value string) {
	if value != "" {
		p.fold(fmt.Sprintf("%-*s", nameWidth, name), value)
	}
}

// fold writes a cleaned text behind a head, and goes on below it. The head is our own.
func (p *printer) fold(head, text string) {
	indent := utf8.RuneCountInString(head)
	for i, line := range foldWords(terminal.Clean(text), p.width-indent) {
		if i > 0 {
			head = strings.Repeat(" ", indent)
		}
		p.print("%s\n", strings.TrimRight(head+line, " "))
	}
}

// foldWords breaks a text of one line at its spaces, and words that are too long within.
func foldWords(text string, width int) (lines []string) {
	width = max(width, 8)
	line, used := "", 0
	for _, word := range strings.Split(text, " ") {
		size := utf8.RuneCountInString(word)
		if used > 0 && used+1+size > width {
			lines, line, used = append(lines, line), "", 0
		}
		for ; size > width; size -= width {
			runes := []rune(word)
			lines, word = append(lines, string(runes[:width])), string(runes[width:])
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+size
	}
	return append(lines, line)
}

// valueOf writes a value in a box of its own: no row of it can look like one of ours.
func (p *printer) valueOf(indent, name string, t Text) {
	switch {
	case t.State != Kept && t.State != "":
		p.fold(indent+name+": ", cmp.Or(t.Why, string(t.State)))
		return
	case t.Base64 != nil:
		p.fold(indent+name+": ", fmt.Sprintf("%d bytes that are no text; --json shows them", t.Bytes))
		return
	case t.Text == "":
		p.fold(indent+name+": ", "empty")
		return
	}
	if t.Bytes > 0 {
		name += fmt.Sprintf(" (the beginning of %d bytes)", t.Bytes)
	}
	p.print("%s%s\n", indent, name)
	if p.err != nil {
		return
	}
	q := &terminal.Quoter{Out: p.w, Mark: indent + "  │ ", Columns: p.width}
	p.err = cmp.Or(q.WriteText(t.Text), q.End())
}

// writeHead says which record it is and what was decided.
func (p *printer) writeHead(s *Story) {
	r := s.Record
	p.fact("record", fmt.Sprintf("%s, number %d", r.ID, r.Index))
	p.fact("time", r.Time.UTC().Format(TimeLayout))
	p.fact("kind", r.Kind)
	c := s.About
	if c == nil {
		p.fact("outcome", r.Outcome)
		p.fact("user", r.User)
		p.fact("conversation", r.Conversation)
		p.fact("body", string(r.Body))
		return
	}
	if c.Decided != r.ID {
		p.fact("decided by", fmt.Sprintf("%s, %s, %s", c.Decided, c.Kind, c.At.UTC().Format(TimeLayout)))
	}
	p.fact("outcome", c.Outcome)
	p.fact("gate", c.Gate)
	p.fact("code", c.Code)
	p.fact("reason", c.Reason)
	p.fact("skill", cmp.Or(c.Skill, "none that is known"))
	p.fact("effect", c.Effect)
	p.fact("marks", listMarks(c))
	p.fact("user", c.User)
	p.fact("agent", c.Agent)
	p.fact("conversation", c.Conversation)
	if c.Drift != nil && c.Deviation != nil {
		p.fact("drift", fmt.Sprintf("%.2f, and the call is %.2f from what was asked for", float64(*c.Drift)/100, float64(*c.Deviation)/100))
	}
	p.fact("turn", c.Turn)
	p.fact("grant", c.Grant)
	p.fact("runs at", c.Remote)
	p.fact("call", c.ID)
	p.fact("decision", c.Decision)
	p.fact("digest", c.Digest)
	p.fact("policy", c.Policy)
	p.fact("took", fmt.Sprintf("%d us", c.ElapsedUS))
}

func listMarks(c *Call) string {
	var out []string
	for _, m := range []struct {
		set  bool
		word string
	}{{c.Outward, "outward"}, {c.Tainted, "tainted"}, {c.Degraded, "degraded"}} {
		if m.set {
			out = append(out, m.word)
		}
	}
	return strings.Join(out, ", ")
}

// writeAsked tells what was asked for, and by whom.
func (p *printer) writeAsked(s *Story) {
	p.section("what was asked for")
	p.valueOf("  ", "the user's request", s.Values.Request)
	if s.Values.Before.State == Kept {
		p.valueOf("  ", "the turn before", s.Values.Before)
	}
	author := textcut.Head(terminal.Clean(cmp.Or(s.About.MissionBy, "an unknown author")), maxAuthor)
	p.valueOf("  ", "the agent's mission, by "+author, s.Values.Mission)
}

// writeSteps tells what had come back before.
func (p *printer) writeSteps(s *Story) {
	p.section("what had come back before, in this turn")
	if len(s.Steps) == 0 {
		p.print("  nothing\n")
	}
	if s.MoreSteps {
		p.print("  older steps may be left out\n")
	}
	for _, step := range s.Steps {
		whose := ""
		if !step.Own {
			whose = ", agent " + step.Agent
		}
		p.fold("  "+step.At.UTC().Format(TimeLayout)+"  ", fmt.Sprintf("%s %s, %s, %d bytes%s", step.Skill, step.Status,
			cmp.Or(step.Trust, "no result"), step.Bytes, whose))
		if step.Arguments.State == Kept {
			p.valueOf("    ", "arguments", step.Arguments)
		}
		if step.Result.State == Kept {
			p.valueOf("    ", "result", step.Result)
		}
	}
}

// writeArguments tells what the call was made of.
func (p *printer) writeArguments(s *Story) {
	c, v := s.About, &s.Values
	p.section("the call")
	if c.Kind != "refused" || len(c.Names) > 0 {
		p.fact("  names", strings.Join(append(slices.Clone(c.Names), fmt.Sprintf("%d not declared", c.Undeclared)), ", "))
	}
	p.fact("  size", fmt.Sprintf("%d bytes", c.Bytes))
	for _, f := range c.Flags {
		p.fact("  flag", strings.TrimSpace(f.Code+" "+strings.Join(f.Args, ", ")))
	}
	if m := c.Rewritten; m != nil {
		p.fact("  rewritten", strings.Join(m.Args, ", ")+" by "+strings.Join(m.Rules, ", "))
		p.fact("  edited by", m.EditedBy)
	}
	if v.Skill.State == Kept {
		p.valueOf("  ", "the skill that was named", v.Skill)
	}
	p.valueOf("  ", "arguments", v.Arguments)
	if v.Proposed.State == Kept {
		p.valueOf("  ", "arguments as proposed", v.Proposed)
	}
	p.writeTouches(v)
	if v.Evidence.State == Kept {
		p.valueOf("  ", "where its values were seen", v.Evidence)
	}
}

func (p *printer) writeTouches(v *Values) {
	switch {
	case v.TouchState.State != Kept:
		p.fold("  it touches: ", cmp.Or(v.TouchState.Why, string(v.TouchState.State)))
		return
	case len(v.Touches) == 0:
		p.print("  it touches nothing that is named\n")
		return
	}
	p.print("  it touches\n")
	for _, t := range v.Touches {
		line := t.Value
		if t.Real != "" {
			line += " leads to " + t.Real
		}
		if t.Arg != "" {
			line += ", from " + t.Arg
		}
		p.fold(fmt.Sprintf("    %-9s ", terminal.Clean(t.Kind)), line)
	}
}

// writeGates tells every gate's verdict and why.
func (p *printer) writeGates(s *Story) {
	p.section("gates")
	for _, g := range s.Gates {
		score := ""
		if g.Score != nil {
			score = fmt.Sprintf("%.2f", float64(*g.Score)/100)
		}
		t := &terminal.Table{Colour: p.colour, Least: []int{12, 11, 0}}
		t.Add("  "+shorten(g.Gate), shorten(g.Outcome), strings.TrimSpace(shorten(g.Code)+" "+score))
		if p.err == nil {
			p.err = t.Write(p.w)
		}
		const below = "      "
		for _, words := range []string{stateWords[g.State], g.Reason} {
			if words != "" {
				p.fold(below, words)
			}
		}
		if g.Degraded {
			p.fold(below, "degraded: its model or store was away")
		}
		for _, signal := range g.Signals {
			p.fold(below, signal.line())
		}
		for _, key := range slices.Sorted(maps.Keys(g.Meta)) {
			p.fold(below, key+"="+g.Meta[key])
		}
		if g.Said.State == Kept {
			p.valueOf(below, "it says", g.Said)
		}
	}
}

// maxWord is how many characters of a gate's words stand in its row: three of them and the score fit.
const maxWord = 28

// shorten cleans a word and cuts one that no gate has.
func shorten(s string) string {
	runes := []rune(terminal.Clean(s))
	if len(runes) > maxWord {
		return string(runes[:maxWord-1]) + "…"
	}
	return string(runes)
}

// line is a signal in words.
func (s Signal) line() string {
	out := fmt.Sprintf("%s %+d", s.Signal, s.Amount)
	if len(s.Args) > 0 {
		out += " " + strings.Join(s.Args, ", ")
	}
	if s.Words != strings.ReplaceAll(s.Signal, "_", " ") {
		out += ": " + s.Words
	}
	if s.Doubt != "" {
		out += "; " + cmp.Or(doubtWords[s.Doubt], "a doubt, "+s.Doubt)
	}
	return out
}

// writeQuestion tells who was asked.
func (p *printer) writeQuestion(q *Question) {
	if q == nil {
		return
	}
	p.section("a person was asked")
	p.fact("  asked", q.Asked.UTC().Format(TimeLayout))
	if q.Answered.IsZero() {
		p.fact("  answered", "no answer is on record")
		p.fact("  until", formatMoment(q.Expires))
		return
	}
	p.fact("  answered", fmt.Sprintf("%s, after %s", q.Answered.UTC().Format(TimeLayout),
		(time.Duration(q.WaitedMS)*time.Millisecond).String()))
	p.fact("  by", q.Approver)
	p.fact("  via", q.Via)
}

func formatMoment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(TimeLayout)
}

// writeEnd tells what became of the call.
func (p *printer) writeEnd(s *Story) {
	e := s.End
	if e == nil {
		return
	}
	p.section("what became of it")
	p.fact("  outcome", strings.TrimSpace(e.Status+" "+e.Code))
	p.fact("  time", e.At.UTC().Format(TimeLayout))
	p.fact("  result", strings.Trim(fmt.Sprintf("%d bytes, %s, %s", e.Bytes, e.Trust, e.Isolation), ", "))
	p.fact("  marks", strings.Join(e.Marks, ", "))
	p.fact("  took", fmt.Sprintf("%d us", e.ElapsedUS))
	if s.Values.Failure.State == Kept {
		p.valueOf("  ", "its error", s.Values.Failure)
		return
	}
	p.valueOf("  ", "its result", s.Values.Result)
}

// writeOthers lists the conversation's other calls.
func (p *printer) writeOthers(s *Story) {
	if len(s.Others) == 0 {
		return
	}
	p.section("other calls of the conversation")
	for _, o := range s.Others {
		about := strings.Join(strings.Fields(o.Outcome+" "+o.Status+" "+o.Code), " ")
		p.fold("  "+o.At.UTC().Format(TimeLayout)+"  ", fmt.Sprintf("%s %s, %s (%s)", cmp.Or(o.Skill, "no known skill"), about,
			cmp.Or(o.Agent, "no agent"), o.Record))
	}
	if s.MoreOthers {
		p.print("  there may be more: vedette ledger list conversation:…\n")
	}
}

// writeReadings lists who was shown values.
func (p *printer) writeReadings(s *Story) {
	if s.Opened != nil {
		p.section("values were opened")
		p.fold("  ", fmt.Sprintf("for %s via %s, on record as %s", s.Opened.By, s.Opened.Via, s.Opened.Record))
	}
	if len(s.Readings) == 0 {
		return
	}
	p.section("values were read before")
	for _, r := range s.Readings {
		p.fold("  "+r.At.UTC().Format(TimeLayout)+"  ", fmt.Sprintf("by %s via %s (%s)", r.By, r.Via, r.Record))
	}
}

// writeRelated lists the other records of the call.
func (p *printer) writeRelated(s *Story) {
	if len(s.Related) == 0 {
		return
	}
	p.section("other records of this call")
	for _, r := range s.Related {
		about := strings.Join(strings.Fields(r.Kind+" "+r.Outcome+" "+r.Gate+" "+r.Code), " ")
		p.fold("  "+r.Time.UTC().Format(TimeLayout)+"  ", about+" "+r.ID)
	}
}
