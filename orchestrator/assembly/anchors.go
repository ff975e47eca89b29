package assembly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/anchors"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
	"github.com/vedette-dev/vedette/skills"
)

// NewAnchors makes the anchors under ledger.anchors. The error has its places in the file.
func NewAnchors(cfg *config.Config) ([]anchors.Anchor, error) {
	list, err := newAnchors(cfg)
	return list, cfg.Locate(err)
}

func newAnchors(cfg *config.Config) ([]anchors.Anchor, error) {
	var out []anchors.Anchor
	var mistakes []error
	for i, a := range cfg.Ledger.Anchors {
		place, at, err := newPlace(a)
		if err != nil {
			mistakes = append(mistakes, &skills.PathError{Path: fmt.Sprintf("ledger.anchors[%d].%s", i, at), Msg: err.Error()})
			continue
		}
		out = append(out, anchors.Anchor{Name: a.Name, Place: place, Every: a.Every, Required: a.Required})
	}
	return out, errors.Join(mistakes...)
}

// newPlace makes what keeps an anchor's heads. at is the key whose settings the error is about.
func newPlace(a config.LedgerAnchor) (p anchors.Place, at string, err error) {
	switch {
	case a.HTTP.URL.IsSet():
		p, err = anchors.NewHTTP(anchors.HTTP{URL: a.HTTP.URL.Reveal(), ReadURL: a.HTTP.ReadURL.Reveal(), Token: a.HTTP.Token.Reveal()})
		return p, "http", err
	case a.Witness.URL != "":
		p, err = anchors.NewWitness(anchors.Witness{URL: a.Witness.URL, Key: a.Witness.Key, File: a.Witness.File})
		return p, "witness", err
	case a.S3.Endpoint != "":
		p, err = anchors.NewS3(anchors.S3{Endpoint: a.S3.Endpoint, Region: a.S3.Region, Bucket: a.S3.Bucket, Prefix: a.S3.Prefix,
			AccessKey: a.S3.AccessKey.Reveal(), SecretKey: a.S3.SecretKey.Reveal(), Retain: a.S3.Retain, Governance: a.S3.Governance})
		return p, "s3", err
	case a.Tiles.Path != "":
		return anchors.NewTiles(a.Tiles.Path), "tiles", nil
	}
	return anchors.NewFile(a.File.Path), "file", nil
}

// checkAnchors finds the mistakes under ledger.anchors.
func checkAnchors(cfg *config.Config) error {
	_, err := newAnchors(cfg)
	return err
}

// ErrInUse is wrapped where another process has the database open.
var ErrInUse = store.ErrLocked

// KeptHeads is what an anchor gave back.
type KeptHeads struct {
	Anchor string
	// WriteOnly is set where it gives none back, Unasked where it was not asked.
	WriteOnly, Unasked bool
	// Largest is how many records the largest of its heads covers, by origin: each file of the ledger has its own. No signature
	// was checked.
	Largest map[string]int64
	Err     error
}

// ReadAnchors asks the anchors of a configuration for their heads. Offline asks those on this machine alone.
func ReadAnchors(ctx context.Context, cfg *config.Config, offline bool) ([]KeptHeads, error) {
	list, err := NewAnchors(cfg)
	if err != nil {
		return nil, err
	}
	out := make([]KeptHeads, len(list))
	for i, a := range list {
		out[i] = KeptHeads{Anchor: a.Name, Unasked: offline && !slices.Contains([]string{"file", "tiles"}, a.Place.Kind())}
		if out[i].Unasked {
			continue
		}
		bound, cancel := context.WithTimeout(ctx, askTime)
		heads, err := a.Place.Read(bound)
		cancel()
		if out[i].WriteOnly = errors.Is(err, anchors.ErrWriteOnly); !out[i].WriteOnly {
			out[i].Err = err
		}
		out[i].Largest = map[string]int64{}
		for _, signed := range heads {
			if h, err := ledger.PeekHead(signed); err == nil {
				out[i].Largest[h.Origin] = max(out[i].Largest[h.Origin], h.Size)
			}
		}
	}
	return out, nil
}

// askTime bounds the asking of one anchor.
const askTime = 10 * time.Second

// beside is the ledger of a database that another process may write to.
type beside struct{ *ledger.Reader }

// ExportHead returns the newest head.
func (b beside) ExportHead(ctx context.Context) ([]byte, error) { return b.NewestHead(ctx) }

// CompareHeads is for those who open the ledger.
func (beside) CompareHeads(context.Context, [][]byte) (ledger.Comparison, error) {
	return ledger.Comparison{}, errors.New("a ledger is compared with its anchors where it is opened")
}

// SendHead sends the newest head of the database to every anchor, also beside a running process. What became of
// each is in its status.
func SendHead(ctx context.Context, cfg *config.Config) (_ []anchors.Status, err error) {
	list, err := NewAnchors(cfg)
	if err != nil {
		return nil, err
	}
	r, err := ledger.OpenReader(ctx, cfg.Ledger.Path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	set := anchors.New(anchors.Options{Ledger: beside{r}}, list...)
	for _, c := range set.Couriers() {
		_ = c.Send(ctx) // the status has it
	}
	return set.Status(), nil
}

// AcceptRestored writes into the ledger that a backup was put in place of it, so that a start goes on although its
// anchors know of more. It needs the database for itself. It returns up to how many records the anchors know of.
func AcceptRestored(ctx context.Context, cfg *config.Config, by string) (newest int64, err error) {
	list, err := NewAnchors(cfg)
	if err != nil {
		return 0, err
	}
	k, err := keys.LoadOrCreate(cfg.Keys.Dir)
	if err != nil {
		return 0, err
	}
	st, err := store.Open(ctx, store.Options{Path: cfg.Ledger.Path, Driver: cfg.Ledger.Driver})
	if err != nil {
		return 0, fmt.Errorf("the database %s can't be opened: %w", cfg.Ledger.Path, err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	l, err := ledger.OpenWith(ctx, st, k, ledger.Options{})
	if err != nil {
		return 0, err
	}
	heads, err := anchors.New(anchors.Options{Ledger: l}, list...).Read(ctx)
	if err != nil {
		return 0, err
	}
	return l.AcceptRestored(ctx, heads, by)
}
