package assembly

import (
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/leak"
	"github.com/vedette-dev/vedette/skills/run/http"
)

// Recorder is the one that the checkpoint was given.
func (p *Parts) Recorder() sentinel.Recorder { return p.recorder }

// Token signs one request, as the http skills of p do.
func (p *Parts) Token(now func() time.Time, o skills.Order, r http.Request) (string, error) {
	signer, err := p.newTokenSigner()
	if err != nil {
		return "", err
	}
	return http.SignWith(signer, now)(o, r)
}

// Leaks returns how many calls were found to have left goroutines running.
func (p *Parts) Leaks() int64 { return p.leaks.Found() }

// WatchLeaks puts another watch in the place of the present one.
func (p *Parts) WatchLeaks(o leak.Options) {
	p.leaks.Close()
	p.leaks = leak.New(o)
}
