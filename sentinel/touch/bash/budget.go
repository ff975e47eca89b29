package bash

// The bounds of what is read of one call.
const (
	// MaxShell is the longest command line in bytes: what Linux lets sh -c have.
	MaxShell = 128 << 10

	maxBytes   = 1 << 20 // produced by expansion
	maxItems   = 4096    // values, words and files that one line makes of others
	maxSteps   = 5_000   // commands
	maxLevels  = 32      // command lines inside command lines
	maxNesting = 500     // statements inside statements; a && b && c is three
	maxOpeners = 20_000  // brackets, which nest the parser
	maxAlts    = 64      // values that a word may have where several are combined
	maxValue   = 64 << 10
	maxPath    = 16 << 10
)

// Budget bounds the work for all command lines of one call. Its zero value is a whole
// budget. It isn't safe for concurrent use.
type Budget struct {
	bytes, items, steps int
	over                bool
}

// NewBudget returns the budget of one call: 1 MiB of text, 4096 items and
// 5,000 commands.
func NewBudget() *Budget { return &Budget{} }

// IsSpent reports whether something needed more than there was.
func (b *Budget) IsSpent() bool { return b.over }

// TakeBytes charges n bytes of text and reports whether they were left.
func (b *Budget) TakeBytes(n int) bool {
	b.bytes += n
	b.over = b.over || b.bytes > maxBytes
	return !b.over
}

func (b *Budget) takeItems(n int) bool {
	b.items += n
	b.over = b.over || b.items > maxItems
	return !b.over
}

func (b *Budget) takeStep() bool {
	b.steps++
	b.over = b.over || b.steps > maxSteps
	return !b.over
}
