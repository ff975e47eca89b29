package judge

// nameSet says on which of the lists below a word of an argument's name stands. A call's names are
// asked for many lists, so each word is looked up once for all of them.
type nameSet uint16

const (
	queryName nameSet = 1 << iota
	timeName
	goalName
	recordName
	accountName
	recipientName
	senderName
	hostName
	idName
	amountName
	rightName
	roleName
	enclosedName
)

// nameSets holds the lists of every word that stands on one.
var nameSets = mergeNames(map[nameSet]map[string]bool{
	queryName: queryNames, timeName: timeNames, goalName: goalNames, recordName: recordNames, accountName: accountNames,
	recipientName: recipientNames, senderName: senderNames, hostName: hostNames, idName: idNames, amountName: amountNames,
	rightName: rightNames, roleName: roleNames, enclosedName: enclosedNames,
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

// argName is an argument's name with its words. all are the lists of any of them, and tail those of
// the last one.
type argName struct {
	name      string
	words     []string
	all, tail nameSet
}

func readArgName(name string) argName {
	n := argName{name: name, words: splitName(name)}
	for _, w := range n.words {
		n.tail = nameSets[w]
		n.all |= n.tail
	}
	return n
}
