package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

func newLedgerVerify(a *app, p *places) *cobra.Command {
	var heads []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove that the ledger holds what was signed",
		Long: `Verify computes every record's hash again and compares the tree with every signed
head. Verify needs only the database file and the public key, and works beside a
running server. The exit status is 5 where a record was changed, swapped,
inserted or removed.

A person who can write the file can cut off its end together with its heads, or put
an old copy in its place. Verify finds that up to the newest head that you give it
with --head: keep what vedette ledger head prints where that person can't write.`,
		Example: `  vedette ledger verify
  vedette ledger verify --db copy.db --key ledger.pub --head monday.txt --head tuesday.txt --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.fill(true, false); err != nil {
				return err
			}
			return a.verify(cmd.Context(), p, heads, asJSON)
		},
	}
	cmd.Flags().StringArrayVar(&heads, "head", nil, "`FILE` with a signed head that was kept elsewhere; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// maxHead is more than any head has, in bytes.
const maxHead = 4 << 10

func (a *app) verify(ctx context.Context, p *places, files []string, asJSON bool) error {
	key, err := p.publicKey()
	if err != nil {
		return err
	}
	o := ledger.VerifyOptions{PublicKey: key}
	for _, name := range files {
		head, err := readHead(name, key)
		if err != nil {
			return err
		}
		o.Heads = append(o.Heads, head)
	}
	report, err := ledger.Verify(ctx, p.db, o)
	tampered := errors.Is(err, ledger.ErrTampered)
	if err != nil && !tampered {
		return p.explain(err)
	}
	if asJSON {
		if report.Problems == nil {
			report.Problems = []ledger.Problem{}
		}
		werr := writeJSON(a.out, struct {
			OK bool `json:"ok"`
			ledger.Report
		}{!tampered, report}, false)
		if werr != nil {
			return werr
		}
	} else if werr := a.tellReport(report); werr != nil {
		return werr
	}
	if tampered {
		return &failure{
			exitIntegrity, fmt.Errorf("the ledger does not hold what was signed: %w", err),
			"keep the file as it is; a backup that verifies with the newest head shows what was changed",
		}
	}
	return nil
}

// readHead reads a head and makes sure that it is one of this ledger's.
func readHead(name, key string) (_ []byte, err error) {
	hint := "give what vedette ledger head printed"
	if err := readable(name, hint); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", name, cause(err))
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxHead))
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", name, cause(err))
	}
	if _, err := ledger.ParseHead(b, key); err != nil {
		return nil, &failure{exitFailed, fmt.Errorf("%s: %w", name, err), hint}
	}
	return b, nil
}

func (a *app) tellReport(r ledger.Report) error {
	t := table{}
	span := fmt.Sprint(r.Records)
	if r.Records > 0 {
		span += fmt.Sprintf(" (0 to %d), %s to %s", r.Records-1, r.First.Format(timeLayout), r.Last.Format(timeLayout))
	}
	t.add("records", span)
	t.add("proved", fmt.Sprintf("%d by %d signed heads, %d signatures checked", r.Proved, r.Heads, r.Signatures))
	if r.Newest != nil {
		t.add("newest head", fmt.Sprintf("%d records, %s", r.Newest.Size, r.Newest.Time.UTC().Format(timeLayout)))
		t.add("root", r.Newest.Root.String())
	}
	t.add("external heads", fmt.Sprintf("%d, rollback excluded for %d records", r.External, r.RollbackExcluded))
	for _, p := range r.Problems {
		t.add("problem", p.String())
	}
	for _, c := range r.Caveats {
		t.add("caveat", c)
	}
	t.add("result", map[bool]string{true: "everything agrees", false: "TAMPERED"}[r.OK()])
	return t.write(a.out)
}
