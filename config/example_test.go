package config_test

import (
	"errors"
	"fmt"
	"testing/fstest"

	"github.com/vedette-dev/vedette/config"
)

// A configuration and the file of skills that it includes.
func ExampleParse() {
	cfg, err := config.Parse("vedette.yaml", []byte(`
version: 1
models: {local: {model: llama, base_url: "http://127.0.0.1:8080/v1"}}
roles: {orchestrator: local, agent: local, sentinel: local}
skills: {include: ["skills.yaml"]}
`), config.Options{FS: fstest.MapFS{"skills.yaml": {Data: []byte(`
skills:
  - name: weather.read
    description: Tell the weather of a town.
    effect: read
    parameters: {type: object, properties: {town: {type: string}}, required: [town]}
    run: {template: "Sunny."}
`)}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range cfg.Skills {
		fmt.Println(s.Skill.Name(), s.Skill.Effect())
	}
	// Output: weather.read read
}

// Every mistake is found in one pass, each with its place.
func ExampleParse_mistakes() {
	_, err := config.Parse("vedette.yaml", []byte(`
version: 1
models: {local: {model: llama, base_url: "http://127.0.0.1:8080/v1"}}
roles: {orchestrator: local, agent: local, sentinel: loca}
permision: []
`), config.Options{})
	var mistakes config.Errors
	if errors.As(err, &mistakes) {
		for _, m := range mistakes {
			fmt.Println(m)
		}
	}
	// Output:
	// vedette.yaml:4:54: roles.sentinel: unknown model "loca"; did you mean "local"?
	// vedette.yaml:5:1: unknown key "permision"; did you mean "permissions"?
}
