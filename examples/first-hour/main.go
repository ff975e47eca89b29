// First-hour is the program of docs/first-hour.md: a typed skill of one's own, with the whole
// command line of vedette around it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/vedette-dev/vedette/cmd/vedette/command"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/skills"
)

type payment struct {
	Payee string `json:"payee" jsonschema_extras:"x-target=true"`
	Euros int    `json:"euros"`
	For   string `json:"for" jsonschema_extras:"x-content=true"`
}

// pay stands for a bank: it writes the payment down.
func pay(_ context.Context, p payment) (string, error) {
	f, err := os.OpenFile("paid.txt", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(f, "%d euros to %s for %s\n", p.Euros, p.Payee, p.For); err != nil {
		return "", err
	}
	return "paid", f.Close()
}

func main() {
	skill, err := skills.Func(skills.Spec{Name: "bank.pay", Description: "Pay somebody from the user's account.",
		Effect: skills.CostsMoney, Reaches: skills.Others}, pay)
	if err != nil {
		log.Fatal(err)
	}
	os.Exit(command.Main(orchestrator.Options{Skills: []*skills.GoSkill{skill}}))
}
