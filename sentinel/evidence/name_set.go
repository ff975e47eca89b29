package evidence

// nameSet says on which of the lists below a word of an argument's name stands, so that each word
// is looked up once for all of them.
type nameSet uint16

const (
	queryName nameSet = 1 << iota
	accountName
	pathName
	hostName
	amountName
	idName
	refName
	recipientName
)

// nameSets holds the lists of every word that stands on one.
var nameSets = mergeNames(map[nameSet]map[string]bool{
	queryName: queryNames, accountName: accountNames, pathName: pathNames, hostName: hostNames, amountName: amountNames,
	idName: idNames, refName: refNames, recipientName: recipientNames,
})

func mergeNames(lists map[nameSet]map[string]bool) map[string]nameSet {
	out := map[string]nameSet{}
	for set, words := range lists {
		for w := range words {
			out[w] |= set
		}
	}
	return out
}

// readName returns the lists on which any word of an argument's name stands, and those of its
// last word.
func readName(name string) (all, last nameSet) {
	if isSmallLetters(name) { // one word, as most are
		last = nameSets[name]
		return last, last
	}
	for _, w := range splitName(name) {
		last = nameSets[w]
		all |= last
	}
	return all, last
}
