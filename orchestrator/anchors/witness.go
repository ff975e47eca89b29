package anchors

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/vedette-dev/vedette/internal/outbound"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// Witness is a witness of C2SP's tlog-witness. It must know the ledger's origin and public key: its operator adds
// them.
type Witness struct {
	// URL is its submission prefix: heads go to URL/add-checkpoint.
	URL string
	// Key is its public key, as its operator publishes it.
	Key string
	// File is where heads are appended with the cosignature under them; empty keeps none.
	File string
	// TLS is nil, or how the server's certificate is checked.
	TLS *tls.Config
}

type witnessPlace struct {
	o      Witness
	key    *ledger.Witness
	client *http.Client

	mu     sync.Mutex
	origin string // of the file of the ledger whose heads are sent
	size   int64  // of the head of it that the witness saw last, as far as is known
}

// NewWitness checks the settings. The address must be https, or lead to this machine.
func NewWitness(o Witness) (Place, error) {
	o.URL = strings.TrimRight(o.URL, "/")
	key, err := ledger.ParseWitness(o.Key)
	if err != nil {
		return nil, err
	}
	client, err := outbound.NewClient(o.URL, o.TLS, sendTime)
	return &witnessPlace{o: o, key: key, client: client}, err
}

// Kind implements Place.
func (*witnessPlace) Kind() string { return "witness" }

// Put implements Place. Where the witness knows of another head than this process does, it says so, and is asked
// once more.
func (p *witnessPlace) Put(ctx context.Context, h Kept) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.Origin != p.origin {
		p.origin, p.size = h.Origin, 0
	}
	for range 2 {
		size, err := p.submit(ctx, h)
		if err != nil {
			return err
		}
		if size < 0 {
			p.size = h.Size
			return nil
		}
		if size > h.Size {
			return fmt.Errorf("the witness has seen %d records of this ledger, and it has %d: this is an older copy, or its end was cut off",
				size, h.Size)
		}
		p.size = size
	}
	return errors.New("the witness changes its mind about what it saw last")
}

// submit submits a head. It returns -1 where the witness has cosigned it, and else the size that it saw last.
func (p *witnessPlace) submit(ctx context.Context, h Kept) (size int64, err error) {
	way, err := h.Prove(ctx, min(p.size, h.Size))
	if err != nil {
		return 0, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "old %d\n", min(p.size, h.Size))
	for _, hash := range way {
		b.WriteString(base64.StdEncoding.EncodeToString(hash[:]) + "\n")
	}
	b.WriteString("\n")
	b.Write(h.Signed)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.o.URL+"/add-checkpoint", &b)
	if err != nil {
		return 0, errors.New("the address can't be used")
	}
	code, body, err := send(p.client, req)
	switch {
	case err != nil:
		return 0, err
	case code == http.StatusOK:
		return -1, p.takeCosignature(h, string(body))
	case code == http.StatusConflict:
		size, err := strconv.ParseInt(strings.TrimSuffix(string(body), "\n"), 10, 64)
		if err != nil || size < 0 || size == min(p.size, h.Size) {
			return 0, errors.New("the witness has seen another head of this size: the ledger has forked")
		}
		return size, nil
	case code == http.StatusUnprocessableEntity:
		return 0, errors.New("the witness has seen other records than these: the ledger has forked")
	case code == http.StatusNotFound || code == http.StatusForbidden:
		return 0, fmt.Errorf("the witness answered %d: its operator must add this ledger's origin %q and public key", code, h.Origin)
	}
	return 0, fmt.Errorf("the witness answered %d", code)
}

// takeCosignature checks a witness's answer, and keeps the cosigned head.
func (p *witnessPlace) takeCosignature(h Kept, lines string) error {
	cosigned, err := ledger.AddCosignatures(h.Signed, lines)
	if err != nil {
		return errors.New("the witness's answer holds no cosignature")
	}
	if _, err := p.key.CosignedAt(cosigned); err != nil {
		return errors.New("the witness's answer holds no cosignature by the key that is configured")
	}
	if p.o.File == "" {
		return nil
	}
	return appendHead(p.o.File, cosigned)
}

// Read implements Place: the heads that were cosigned, where they are kept.
func (p *witnessPlace) Read(ctx context.Context) ([][]byte, error) {
	if p.o.File == "" {
		return nil, ErrWriteOnly
	}
	return (&file{p.o.File}).Read(ctx)
}
