package ledger

import (
	"fmt"
	"time"
)

// Kinds of a Problem.
const (
	// Changed: a record is not what was hashed.
	Changed = "changed"
	// Swapped: two records stand in each other's place.
	Swapped = "swapped"
	// Inserted: there is a record that was not there when the head was signed,
	// or that no signed head covers.
	Inserted = "inserted"
	// Removed: a record that a signed head covers is gone.
	Removed = "removed"
	// BadHead: a stored head is not signed by the key, or was moved.
	BadHead = "head"
	// BadTree: the stored tree is damaged while records and heads agree.
	BadTree = "tree"
	// BadSchema: a table, index or trigger is not the ledger's own.
	BadSchema = "schema"
	// BadIndex: an index does not show what is in the records.
	BadIndex = "index"
	// BadKey: a key hands over to another without the signatures of both.
	BadKey = "key"
	// BadColumn: a column, which queries go by, is not what the body of its record says.
	BadColumn = "column"
	// BadLink: a file does not go on from the one before it as that was signed.
	BadLink = "link"
	// BadAgent: a record bears the signature of a key that is none of its agent's, or not any more.
	BadAgent = "agent"
	// Rollback: a head kept elsewhere covers more than there is.
	Rollback = "rollback"
	// Fork: a head kept elsewhere covers other records than these.
	Fork = "fork"
)

// Problem is one finding of Verify.
type Problem struct {
	// Kind is one of the constants above.
	Kind string `json:"kind"`
	// From and To bound the records it is about: From <= index < To. When one
	// record could be named, To is From+1. Both are 0 if it is about none.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Detail says it in words. It quotes no field of a record.
	Detail string `json:"detail"`
}

// String is the problem in one line.
func (p Problem) String() string {
	switch p.To - p.From {
	case 0:
		return p.Kind + ": " + p.Detail
	case 1:
		return fmt.Sprintf("%s: record %d: %s", p.Kind, p.From, p.Detail)
	}
	return fmt.Sprintf("%s: records %d to %d: %s", p.Kind, p.From, p.To-1, p.Detail)
}

// Report is what Verify found out.
type Report struct {
	// Records is how many there are. First and Last are the times of the first and
	// the last that were read.
	Records int64     `json:"records"`
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	// Proved is how many records, from the first on, agree with a signed head.
	Proved int64 `json:"proved"`
	// Unsigned is how many records at the end no signed head covers.
	Unsigned int64 `json:"unsigned"`
	// Heads is how many stored heads agreed with the records, Signatures how
	// many of their signatures were checked. Newest is the newest of them.
	Heads      int64 `json:"heads"`
	Signatures int64 `json:"signatures"`
	Newest     *Head `json:"newest,omitempty"`
	// External is how many heads kept elsewhere agreed. A cut tail or an older
	// copy is excluded for the first RollbackExcluded records.
	External         int   `json:"external"`
	RollbackExcluded int64 `json:"rollback_excluded"`
	// Cosigned is how many cosignatures of witnesses those heads bear.
	Cosigned int `json:"cosigned"`
	// AgentSigned is how many records are signed by keys of their agents, where that was checked.
	AgentSigned int64 `json:"agent_signed,omitempty"`
	// Keys are the public keys that signed, the oldest first, as the records link them.
	Keys []string `json:"keys,omitempty"`
	// Problems are the findings, records first. Reading stops at the first
	// signed head that does not agree, so later ones may be missing.
	Problems []Problem `json:"problems"`
	// Caveats say what this verification could not exclude.
	Caveats []string `json:"caveats"`
}

// OK reports whether nothing was found. Read the caveats too.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

func (r *Report) add(kind string, from, to int64, detail string) {
	r.Problems = append(r.Problems, Problem{Kind: kind, From: from, To: to, Detail: detail})
}

// addCaveats says what the verification could not exclude.
func (r *Report) addCaveats(opts VerifyOptions) {
	if opts.SkipIndexes {
		r.Caveats = append(r.Caveats, "the indexes, which queries go by, were not compared with the records")
	}
	if r.Signatures < r.Heads {
		r.Caveats = append(r.Caveats, fmt.Sprintf("the signatures of %d heads were not checked; their roots were, and the newest head covers "+
			"all records", r.Heads-r.Signatures))
	}
	switch {
	case r.RollbackExcluded == 0:
		r.Caveats = append(r.Caveats,
			"a cut tail or an older copy of the file cannot be excluded: no head kept elsewhere was given")
	case r.RollbackExcluded < r.Records:
		r.Caveats = append(r.Caveats, fmt.Sprintf(
			"a cut tail or an older copy of the file can be excluded for the first %d records only: give a newer head kept elsewhere",
			r.RollbackExcluded))
	default:
		r.Caveats = append(r.Caveats, "records written after the newest head given cannot be excluded to have been cut off")
	}
}

// asTamperedError returns nil, or an ErrTampered with the first problem.
func (r *Report) asTamperedError() error {
	switch len(r.Problems) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%w: %s", ErrTampered, r.Problems[0])
	}
	return fmt.Errorf("%w: %s (and %d more)", ErrTampered, r.Problems[0], len(r.Problems)-1)
}
