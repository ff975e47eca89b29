package replay

import (
	"context"
	"sync"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
)

// kindPart is recorder.KindPart, and kindResult the kind of what a call brought.
const (
	kindPart   = "premises.part"
	kindResult = "result"
)

// keptValues finds parts of premises, and results, in the journal. What many calls will ask for is
// read at once beforehand. It is safe for concurrent use, fetch by one goroutine.
type keptValues struct {
	ctx     context.Context //nolint:containedctx // of the one run that it serves
	journal *journal.Reader

	mu     sync.RWMutex
	byName map[string][]byte // under the kind, and the part's name or the call's id
	size   int
}

// mostKept bounds the bytes that are kept.
const mostKept = 64 << 20

// Part implements sentinel.PremisesSource.
func (k *keptValues) Part(ref string) ([]byte, error) { return k.find(kindPart, ref) }

// Result implements sentinel.PremisesSource.
func (k *keptValues) Result(call string) (string, error) {
	data, err := k.find(kindResult, call)
	return string(data), err
}

func (k *keptValues) find(kind, name string) ([]byte, error) {
	if data, ok := k.get(kind, name); ok {
		return data, nil
	}
	found, err := k.journal.ByCalls(k.ctx, []string{name}, []string{kind})
	if err != nil {
		return nil, err
	}
	list := found[name]
	if len(list) == 0 {
		return nil, sentinel.ErrNotKept
	}
	return list[len(list)-1].Data, nil
}

func (k *keptValues) get(kind, name string) ([]byte, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	data, ok := k.byName[kind+name]
	return data, ok
}

// fetch reads what the premises of calls name.
func (k *keptValues) fetch(calls []*call) error {
	k.makeRoom()
	var refs []string
	for _, c := range calls {
		if data, ok := c.findValue(sentinel.ValuePremises); ok {
			refs = append(refs, sentinel.ListPremiseParts(data)...)
		}
	}
	var results []string
	for len(refs) > 0 { // what calls share names steps of earlier turns
		fresh, err := k.read(kindPart, refs)
		if err != nil {
			return err
		}
		refs = nil
		for _, data := range fresh {
			more, result := sentinel.ListPartNeeds(data)
			refs = append(refs, more...)
			if result != "" {
				results = append(results, result)
			}
		}
	}
	_, err := k.read(kindResult, results)
	return err
}

// makeRoom forgets what was read, where it is too much.
func (k *keptValues) makeRoom() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.size > mostKept || k.byName == nil {
		k.byName, k.size = map[string][]byte{}, 0
	}
}

// read reads values that weren't read before, and returns them.
func (k *keptValues) read(kind string, names []string) (fresh [][]byte, err error) {
	var missing []string
	asked := map[string]bool{}
	for _, n := range names {
		if _, known := k.get(kind, n); !known && !asked[n] {
			asked[n], missing = true, append(missing, n)
		}
	}
	found, err := k.journal.ByCalls(k.ctx, missing, []string{kind})
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for n, list := range found {
		data := list[len(list)-1].Data
		k.byName[kind+n], k.size, fresh = data, k.size+len(data), append(fresh, data)
	}
	return fresh, nil
}
