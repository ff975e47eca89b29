package config

import (
	"strings"

	"github.com/invopop/jsonschema"
)

// notBuilt is a way to run that is planned: it is known and refused.
const notBuilt = "mcp"

// runOption is one key of a way to run, for editors and the reference. The
// package of the kind reads and checks it; a test holds the two together.
type runOption struct{ key, kind, words, meaning string }

// The kinds of values of options.
const (
	optText  = "string"
	optInt   = "integer"
	optBool  = "boolean"
	optList  = "array"
	optTable = "object"
	optHosts = "hosts" // a list, or false
)

// runOptions are the keys of each way to run. A key of smtp stands behind it.
var runOptions = map[string][]runOption{
	"template": nil,
	"http": {
		{"url", optText, "", "The address; {name} places in its path are filled from the arguments. Required."},
		{"method", optText, "GET|HEAD|QUERY|POST|PUT|PATCH|DELETE", "The method (default POST)."},
		{"headers", optTable, "", "Headers of every request. Take secrets from the environment: ${NAME}."},
		{"body", optText, "json|none", "json: the arguments as they were judged; none: no body (default json; none for GET and HEAD)."},
		{"query", optList, "", "Arguments that become query parameters."},
		{"output_limit", optInt, "", "Bounds the answer in bytes (default 262144)."},
		{"allow_hosts", optList, "", "Hosts that may be reached by http without TLS."},
		{"allow_private", optHosts, "", "Hosts that may have a private address, or false for none at all."},
		{"safe", optBool, "",
			"Says that the endpoint changes nothing whatever its method, so that a skill that reads may call it (default false)."},
		{"isolation", optText, "external", "Says that the service isolates the command lines that it runs (x-shell)."},
		{"credentials", optTable, "", "Headers with the user's own credential: its name under credentials, in braces."},
	},
	"exec": {
		{"argv", optList, "", "The program and its arguments; {{name}} as a whole element is an argument of the call. Required."},
		{"stdin", optText, "json|none", "What the program reads: the arguments as JSON, or nothing (default none)."},
		{"dir", optText, "", "The folder that the program starts in."},
		{"env", optList, "", "Variables of the environment that the program gets, by name."},
		{"set_env", optTable, "", "Variables with their values."},
		{"caller_env", optTable, "", "Variables that tell the program for whom it runs: user, conversation, call, idempotency_key."},
		{"credentials", optTable, "", "Variables with the user's own credential: its name under credentials, in braces."},
		{"output_limit", optInt, "", "Bounds what the program prints, in bytes."},
		{"read", optList, "", "Paths that the program may read."},
		{"write", optList, "", "Paths that the program may write."},
		{"isolation", optText, "auto|full|landlock-strict|landlock|namespaces|none",
			"What must hold of the sandbox (default auto: full, or landlock-strict for a skill that reads; else nothing is started). " +
				"namespaces is full's older name."},
		{"write_mode", optText, "direct|snapshot",
			"direct: the program writes to its write roots; snapshot: to an overlay, whose changes are listed and committed " +
				"as a call of their own (full alone)."},
		{"max_deleted", optTable, "", "How many files a program may remove or write over by snapshot before a person is asked."},
		{"max_deleted.files", optInt, "", "Files in all write roots (default 50)."},
		{"max_deleted.percent", optInt, "", "Percent of the files of one write root (default 20)."},
		{"write_limit", optInt, "", "What a program may write by snapshot, in bytes (default 1073741824)."},
		{"limits", optTable, "", "Limits of one run."},
		{"limits.cpu", optText, "", "Processor time of each process with its unit, such as 30s (default 10m)."},
		{"limits.file_size", optInt, "", "The greatest file that the program may write, in bytes (default 4294967296)."},
		{"limits.open_files", optInt, "", "Files that a process may hold open (default 4096)."},
		{"limits.address_space", optInt, "", "Address space of each process in bytes (no default: node and Go reserve gigabytes)."},
		{"limits.processes", optInt, "", "Processes and threads (default 1024; for root by cgroup alone)."},
		{"limits.memory", optInt, "",
			"Memory of all processes together in bytes, such as 1073741824, where cgroup v2 can be written (no default)."},
		{"network", optBool, "", "Let the program use the network (default false)."},
		{"egress", optList, "",
			"Hosts with ports that the program may reach and no other, such as pypi.org:443 or *.example.com:443; needs the full isolation."},
		{"allow_dash", optBool, "", "Let an argument begin with a dash (default false)."},
	},
	"builtin": {
		{"root", optText, "", "Skills over files: the folder that they work in."},
		{"max_file", optInt, "", "Skills over files: the greatest file in bytes (default 8388608)."},
		{"maildir", optText, "", "Skills over mail: the Maildir."},
		{"max_message", optInt, "", "Skills over mail: the greatest message in bytes (default 26214400)."},
		{"smtp", optTable, "", "Skills over mail: the server that sends."},
		{"smtp.addr", optText, "", "host:port of the server."},
		{"smtp.from", optText, "", "The sender's address."},
		{"smtp.username", optText, "", "The account, where the server asks for one."},
		{"smtp.password", optText, "", "Its password. Take it from the environment: ${NAME}."},
		{"smtp.tls", optText, "starttls|tls|none", "How the connection is secured."},
	},
}

// runKindSchema is the editor's schema of the options of one way to run.
func runKindSchema(kind string) *jsonschema.Schema {
	if kind == "template" {
		return &jsonschema.Schema{Type: "string", Description: "A fixed text: what the skill always answers."}
	}
	s := &jsonschema.Schema{
		Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema,
		Description: "Options of " + kind + ".",
	}
	if kind == "builtin" {
		s.Type = "" // its domains say what they take
	}
	for _, o := range runOptions[kind] {
		if group, key, nested := strings.Cut(o.key, "."); nested {
			in, _ := s.Properties.Get(group)
			if in.Properties == nil {
				in.Properties, in.AdditionalProperties = jsonschema.NewProperties(), jsonschema.FalseSchema
			}
			in.Properties.Set(key, o.optionSchema())
			continue
		}
		s.Properties.Set(o.key, o.optionSchema())
	}
	return s
}

// optionSchema returns the editor's schema of one option.
func (o runOption) optionSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: o.kind, Description: o.meaning}
	texts := &jsonschema.Schema{Type: optText}
	switch {
	case o.kind == optList:
		s.Items = texts
	case o.kind == optHosts:
		return &jsonschema.Schema{Description: o.meaning, AnyOf: []*jsonschema.Schema{{Const: false}, {Type: optList, Items: texts}}}
	case o.kind == optTable && o.key != "smtp":
		s.AdditionalProperties = texts
	case o.words != "":
		for w := range strings.SplitSeq(o.words, "|") {
			s.Enum = append(s.Enum, w)
		}
		return orReference(s)
	case o.kind == optInt || o.kind == optBool:
		return orReference(s)
	}
	return s
}
