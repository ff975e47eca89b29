package snapshot

// MaxDeleted is how much a program may remove or write over before a person is asked.
type MaxDeleted struct {
	Files   int // in all roots
	Percent int // of the files of one root
}

// Removal is what a program removed from one root.
type Removal struct {
	Root int
	Lost int // files that are gone, cut to less than a tenth, or replaced
	// Of is how many files the root has. It is counted only as far as the percentage
	// needs: Least says that there are more.
	Of    int
	Least bool
}

// Findings are what a person should see before a commit.
type Findings struct {
	Removals []Removal // the roots that lost files
	TooMany  bool      // beyond MaxDeleted
	// RunsLater are changes that write what others run later. Protected paths aren't
	// among them: the guard knows those.
	RunsLater []Change
	// Overwritten are files of whose old content less than half is left. They are looked for
	// where they may make the removals too many, and count like those.
	Overwritten []Change
	Stripped    []Change // what loses setuid, setgid or capabilities
	Refused     []Change
}

// Asks reports whether a person must be asked before a commit.
func (f Findings) Asks() bool { return f.TooMany || len(f.RunsLater)+len(f.Refused) > 0 }

// sortFindings sorts changes by what a person should see of them.
func sortFindings(list []Change) (f Findings, lost map[int]int) {
	lost = map[int]int{}
	for _, c := range list {
		if c.Lost > 0 {
			lost[c.Root] += c.Lost
		}
		if c.Refused != "" {
			f.Refused = append(f.Refused, c)
		}
		if c.Stripped != "" {
			f.Stripped = append(f.Stripped, c)
		}
		if runsLater(c) {
			f.RunsLater = append(f.RunsLater, c)
		}
	}
	return f, lost
}
