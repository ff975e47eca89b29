package skills_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/vedette-dev/vedette/skills"
)

// A Spec is plain data; Compile checks it and says what is wrong.
func ExampleCompile() {
	s, err := skills.Compile(skills.Spec{
		Name: "email.send", Effect: skills.Irreversible, Reaches: skills.Others,
		Parameters: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","x-target":true}},"required":["to"]}`),
	})
	fmt.Println(s.Name(), s.Effect(), err)
	_, err = skills.Compile(skills.Spec{Name: "email.send"})
	fmt.Println(err)
	// Output:
	// email.send irreversible <nil>
	// effect: is missing; say read, create, modify, irreversible or costs_money
}

// A child's scope lies within its parent's.
func ExampleNewScope() {
	parent, err := skills.NewScope("email.*", "files.read")
	if err != nil {
		fmt.Println(err)
		return
	}
	child, err := skills.NewScope("email.read", "files.write")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(parent.Allows("email.send"), parent.Allows("files.write"))
	fmt.Println(child.Within(parent))
	// Output:
	// true false
	// false [files.write]
}

// town is the input of the example's skill: its JSON Schema comes from the tags.
type town struct {
	Name string `json:"name" jsonschema:"maxLength=80"`
}

// A Go function as a skill. It learns from the context for whom it runs.
func ExampleFunc() {
	weather, err := skills.Func(
		skills.Spec{Name: "weather.read", Description: "Tell the weather of a town.", Effect: skills.Read},
		func(ctx context.Context, in town) (string, error) {
			caller, _ := skills.CallerFrom(ctx)
			return fmt.Sprintf("Sunny in %s, %s.", in.Name, caller.User), nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(weather.Skill().Name())
	fmt.Println(string(weather.Skill().Spec().Parameters))
	// Output:
	// weather.read
	// {"properties":{"name":{"type":"string","maxLength":80}},"additionalProperties":false,"type":"object","required":["name"]}
}

// A name that is nearly right is met with the right one.
func ExampleNearest() {
	fmt.Println(skills.Nearest("permision", []string{"permissions", "models", "roles"}))
	// Output: permissions
}
