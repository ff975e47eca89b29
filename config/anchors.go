package config

import "time"

// LedgerAnchor is a place outside of the database that keeps the newest signed head. It has one of File, HTTP and
// Witness.
type LedgerAnchor struct {
	// Name names the anchor in the log and in metrics.
	Name string `yaml:"name" cfg:"required,pattern=id"`
	// Every is how often the newest head is sent.
	Every time.Duration `yaml:"every" cfg:"min=1s,max=24h"`
	// Required refuses a start where the anchor can't be read.
	Required bool          `yaml:"required"`
	File     AnchorFile    `yaml:"file"`
	HTTP     AnchorHTTP    `yaml:"http"`
	Witness  AnchorWitness `yaml:"witness"`
}

// AnchorFile is a file that heads are appended to.
type AnchorFile struct {
	Path string `yaml:"path" cfg:"required"`
}

// AnchorHTTP is a server that heads are posted to.
type AnchorHTTP struct {
	URL Secret `yaml:"url" cfg:"required"`
	// ReadURL is where heads are read from at a start; empty reads none.
	ReadURL Secret `yaml:"read_url"`
	// Token is sent as a bearer token.
	Token Secret `yaml:"token"`
}

// AnchorWitness is a witness of C2SP's tlog-witness, which cosigns heads.
type AnchorWitness struct {
	URL string `yaml:"url" cfg:"required"`
	// Key is the witness's public key.
	Key string `yaml:"key" cfg:"required"`
	// File keeps the cosigned heads; empty keeps none.
	File string `yaml:"file"`
}

func (a *LedgerAnchor) setDefaults() { *a = LedgerAnchor{Every: time.Minute} }

// anchorKinds are the keys of which an anchor has one.
var anchorKinds = []string{"file", "http", "witness"}

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
			l.out.add(n.pos, "ledger.anchors[%d] has %d places for heads and needs one; write one of file, http and witness", i, places)
		}
		a := l.cfg.Ledger.Anchors[i]
		if first, twice := names[a.Name]; twice && a.Name != "" {
			l.out.add(n.get("name").pos, "ledger.anchors[%d]: another anchor has the name %q already, at %s; give one of them another name",
				i, a.Name, first)
		}
		names[a.Name] = n.pos
	}
}

// resolveAnchorPaths makes the paths of the anchors' files absolute.
func (l *loader) resolveAnchorPaths() {
	list := l.valueAt("ledger", "anchors")
	for i := range l.cfg.Ledger.Anchors {
		a := &l.cfg.Ledger.Anchors[i]
		var n *node
		if list != nil && list.kind == listNode && i < len(list.items) {
			n = list.items[i]
		}
		a.File.Path = l.absPath(a.File.Path, n)
		a.Witness.File = l.absPath(a.Witness.File, n)
	}
}

// AnchorFiles are the files that heads are appended to. No call may write one.
func (c Config) AnchorFiles() (out []string) {
	for _, a := range c.Ledger.Anchors {
		for _, path := range []string{a.File.Path, a.Witness.File} {
			if path != "" {
				out = append(out, path)
			}
		}
	}
	return out
}
