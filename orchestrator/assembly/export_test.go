package assembly

import (
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/leak"
	"github.com/vedette-dev/vedette/skills/run/http"
)

// Recorder is the one that the checkpoint was given.
func (p *Parts) Recorder() sentinel.Recorder { return p.recorder }

// InterruptedStep is how many outcomes one transaction holds.
const InterruptedStep = interruptedStep

// Token signs one request, as the http skills of p do.
func (p *Parts) Token(o skills.Order, r http.Request) (string, error) {
	signer, err := p.tokens()
	if err != nil {
		return "", err
	}
	return token(signer, p.now)(o, r)
}

// WatchLeaks puts another watch in the place of the present one.
func (p *Parts) WatchLeaks(o leak.Options) {
	p.leaks.Close()
	p.leaks = leak.New(o)
}
