package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/internal/terminal"
)

// tokenPlace is what the commands under `vedette token` find tokens by.
type tokenPlace struct {
	*app
	config, db string
	json       bool
}

func newTokenCommand(a *app) *cobra.Command {
	p := &tokenPlace{app: a}
	cmd := asGroup(&cobra.Command{
		Use:     "token",
		Aliases: []string{"tokens"},
		Short:   "Make, list and revoke the tokens of the HTTP API",
		Long: `Every request to the HTTP API of vedette serve needs a token, on the loopback too. A token
says for which user it works, what it may do (its scopes), which skills its calls may use and
how many requests a minute it may send. A request may only narrow that.

These commands ask the process that runs on the database, or open the database where no
process does. Each creation and each revocation is on record in the ledger. A revocation
counts at once.`,
		Example: `  vedette token create backend --user ann --scope chat
  vedette token list
  vedette token revoke 0199a1b2-c3d4`,
	}, newTokenCreateCommand(p), newTokenListCommand(p), newTokenRevokeCommand(p))
	f := cmd.PersistentFlags()
	f.StringVar(&p.config, "config", defaultConfig, "configuration `FILE` of the process")
	f.StringVar(&p.db, "db", "", "database `FILE` of the process, in place of the configuration's")
	return cmd
}

// findTokens returns the tokens that the flags find.
func (p *tokenPlace) findTokens(cmd *cobra.Command) (*setup.Tokens, error) {
	return p.program().FindTokens(p.config, p.db, cmd.Flags().Changed("config"))
}

// addJSONFlag adds --json.
func (p *tokenPlace) addJSONFlag(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&p.json, "json", false, what)
}

// tokenCreateCommand is `vedette token create`.
type tokenCreateCommand struct {
	*tokenPlace
	want    setup.WantedToken
	scopes  []string
	expires time.Duration
	human   bool
}

func newTokenCreateCommand(p *tokenPlace) *cobra.Command {
	c := &tokenCreateCommand{tokenPlace: p}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token, and print its secret this once",
		Long: `Create makes a token and prints its secret on standard output. The secret is kept nowhere:
what is lost is made again. NAME tells tokens apart.

Scopes: chat (conversations), check (decide only), call (decide, record, report), approve
(answer approvals), review (read the ledger), values (be shown values of recorded calls, each
time on record), label (say whether decisions were right), admin (pause, purge, metrics), act_as
(name the user in each request; without it --user says who it is).`,
		Example: `  vedette token create backend --user ann --scope chat --human
  vedette token create pages --scope chat --scope act_as --skill 'email.*' --per-minute 120
  vedette token create approver --user bob --scope approve --expires 720h`,
		Args: wantOne("give the token one name, such as backend"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&c.want.User, "user", "", "the `USER` on whose behalf it works")
	f.StringArrayVar(&c.scopes, "scope", nil, "what it may do: "+strings.Join(setup.TokenScopes(), ", ")+"; repeat it for more")
	f.StringArrayVar(&c.want.Skills, "skill", nil,
		"a `SKILL` that its calls may use, or a domain: 'email.*'; repeat it for more (default all)")
	f.IntVar(&c.want.Limits.PerMinute, "per-minute", 0, "requests a minute (default the server's)")
	f.StringVar(&c.want.Group, "group", "", "the `GROUP` of users whose tier counts")
	f.BoolVar(&c.human, "human", false, "what it sends as the user's request are a person's own words")
	f.DurationVar(&c.expires, "expires", 0, "how long it counts, such as 720h (default until it is revoked)")
	p.addJSONFlag(cmd, "print the token as JSON")
	return cmd
}

func (c *tokenCreateCommand) run(cmd *cobra.Command, name string) error {
	if len(c.scopes) == 0 {
		return usageError("--scope is missing: say what the token may do, such as --scope chat")
	}
	if fl := cmd.Flags(); c.expires <= 0 && fl.Changed("expires") || c.want.Limits.PerMinute <= 0 && fl.Changed("per-minute") {
		return usageError("--expires and --per-minute must be more than 0")
	}
	for _, name := range []string{"user", "group"} { // --user "$U" with an empty U would make a token of no user
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return usageError("--" + name + " is given and names nothing")
		}
	}
	c.want.Name = name
	for _, s := range c.scopes {
		c.want.Scopes = append(c.want.Scopes, setup.TokenScope(s))
	}
	if c.human {
		c.want.UserTurns = setup.UserTurnsHuman
	}
	if c.expires > 0 {
		c.want.Expires = time.Now().Add(c.expires)
	}
	tokens, err := c.findTokens(cmd)
	if err != nil {
		return err
	}
	made, err := tokens.Create(cmd.Context(), c.want)
	if err != nil {
		return err
	}
	c.tellNote("token %s (%s) was made; its secret is shown this once", made.Name, made.ID)
	if c.json {
		return c.writeJSON(made, false)
	}
	return c.printText("%s\n", made.Secret)
}

// tokenListCommand is `vedette token list`.
type tokenListCommand struct {
	*tokenPlace
	all bool
}

func newTokenListCommand(p *tokenPlace) *cobra.Command {
	c := &tokenListCommand{tokenPlace: p}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the tokens, without their secrets",
		Long:    `List shows the valid tokens, the oldest first. With --all it shows those that were revoked or have expired, too.`,
		Example: "  vedette token list\n  vedette token list --all --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	cmd.Flags().BoolVar(&c.all, "all", false, "tokens of every state")
	p.addJSONFlag(cmd, "print each token as a line of JSON")
	return cmd
}

func (c *tokenListCommand) run(cmd *cobra.Command) error {
	tokens, err := c.findTokens(cmd)
	if err != nil {
		return err
	}
	list, err := tokens.List(cmd.Context())
	if err != nil {
		return err
	}
	now := time.Now()
	var t terminal.Table
	t.Add("ID", "NAME", "STATE", "USER", "SCOPES", "SKILLS", "EXPIRES", "MADE BY")
	shown := 0
	for _, k := range list {
		if !c.all && k.State(now) != "valid" {
			continue
		}
		shown++
		if c.json {
			if err := c.writeJSON(k, true); err != nil {
				return err
			}
			continue
		}
		t.Add(k.ID, k.Name, k.State(now), orDash(k.User), joinScopes(k.Scopes),
			orDash(strings.Join(k.Skills, ",")), formatExpiry(k.Expires), k.CreatedBy)
	}
	switch {
	case c.json:
		return nil
	case shown == 0:
		return c.printText("no tokens; vedette token create NAME --scope chat makes one\n")
	}
	return t.Write(c.out)
}

// orDash shows what is empty as a dash.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// joinScopes writes scopes on one line.
func joinScopes(list []setup.TokenScope) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return strings.Join(out, ",")
}

// formatExpiry writes when a token ends.
func formatExpiry(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.UTC().Format("2006-01-02 15:04Z")
}

func newTokenRevokeCommand(p *tokenPlace) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke a token: it lets no caller in from now on",
		Long: `Revoke ends a token at once: requests under way with it lose their answer, and the next
is refused. ID is a token's id or the start of it.`,
		Example: "  vedette token revoke 0199a1b2-c3d4",
		Args:    wantOne("name one token by its ID, or by how the ID begins; vedette token list shows the IDs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			tokens, err := p.findTokens(cmd)
			if err != nil {
				return err
			}
			gone, err := tokens.Revoke(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if p.json {
				return p.writeJSON(gone, false)
			}
			return p.printText("%s\n", terminal.Clean(fmt.Sprintf("token %s (%s) is revoked", gone.Name, gone.ID)))
		},
	}
	p.addJSONFlag(cmd, "print the token as JSON")
	return cmd
}
