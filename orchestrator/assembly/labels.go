package assembly

import (
	"context"

	"github.com/vedette-dev/vedette/orchestrator/labelled"
	"github.com/vedette-dev/vedette/sentinel/label"
)

// openLabels opens what reviewers say of decisions. Store, ledger and journal are open by then.
func (p *Parts) openLabels(ctx context.Context, o Options) (err error) {
	p.Labels, err = label.Open(ctx, label.Options{Store: p.Store, Ledger: p.Ledger, Journal: p.Journal, Now: o.Now})
	return err
}

// ExportLabels makes a page of cases of labelled decisions, on record in the name of by: see labelled.Export.
func (p *Parts) ExportLabels(ctx context.Context, after, by, via string) (labelled.Page, error) {
	return labelled.Export(ctx, labelled.Sources{Ledger: &p.Ledger.Reader, Journal: p.Journal, Labels: p.Labels}, after, by, via)
}
