package command

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/demo"
)

// newDemoCommand returns `vedette demo`.
func newDemoCommand(a *app) *cobra.Command {
	var dir string
	var live, hold bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Play three requests through a real Vedette, without a key or a server",
		Long: `Play three requests through a real Vedette: agents search real files and a real
Maildir, mail leaves over SMTP, and a mail that gives orders to assistants gets
nowhere. Every decision is printed and recorded; the ledger stays for you to read.

Without a key the model is a scripted server on loopback. With --live it is the
one at OPENAI_BASE_URL (by default OpenAI's) with OPENAI_API_KEY; set
VEDETTE_DEMO_MODEL and VEDETTE_DEMO_FAST to choose models.`,
		Example: "  vedette demo\n  vedette demo --dir ./demo\n  OPENAI_API_KEY=… vedette demo --live",
		Args:    cobra.NoArgs,
		RunE: asRun(func(cmd *cobra.Command, _ []string) error {
			a.endsItself.Store(true) // its drain has longer than other commands have
			o := demo.Options{Dir: dir, Hold: hold, Out: a.out, In: a.askablePerson(), Colour: a.color}
			if live {
				l, err := liveModel()
				if err != nil {
					return err
				}
				o.Live = l
			}
			return demo.Run(cmd.Context(), o)
		}),
	}
	c.Flags().StringVar(&dir, "dir", "", "empty folder to play in (default: a new temporary one)")
	c.Flags().BoolVar(&hold, "hold", false, "keep running after the last request, for vedette top and vedette pause")
	c.Flags().BoolVar(&live, "live", false, "ask a real model in place of the script")
	return c
}

func liveModel() (*demo.Live, error) {
	l := &demo.Live{
		BaseURL: envOr("OPENAI_BASE_URL", "https://api.openai.com/v1"), Key: os.Getenv("OPENAI_API_KEY"),
		Model: envOr("VEDETTE_DEMO_MODEL", "gpt-5.2"), Fast: envOr("VEDETTE_DEMO_FAST", "gpt-5-mini"),
	}
	if l.Key == "" && os.Getenv("OPENAI_BASE_URL") == "" {
		return nil, errors.New("--live needs OPENAI_API_KEY, or OPENAI_BASE_URL of a server that asks for none")
	}
	return l, nil
}

func envOr(name, def string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return def
}
