// Package telemetry tells operators how a process is doing: metrics for
// Prometheus and spans for OpenTelemetry, both off by default.
//
//	telemetry:
//	  metrics: {listen: "127.0.0.1:9464"}
//	  traces:  {otlp: "http://collector:4318", sample: 0.1}
//
// The package isn't stable: docs/api.md lists those that are.
//
// A program that has a registry or a tracer provider of its own hands those to
// orchestrator.Options instead; nothing here is global, and nothing is
// registered with anybody's default registry.
//
// Metrics and spans hold counts, times, names that the configuration declares, and
// words of closed lists. A skill that the configuration doesn't declare is
// "unknown", a code that is on no list "other". Ids of users, conversations and
// agents, arguments, results, missions, a model's words and errors' texts are
// neither labels nor attributes: a label that others can choose leaks data and can
// fill the memory of the program that reads it. The one id in a span is that of the
// decision, which the ledger made up: by it a span's decision is found there.
//
// docs/metrics.md lists every metric; it is made by this package's test.
//
// The spans of a turn are
//
//	turn                    from the request's admission to its answer
//	├── chat MODEL          a question of the orchestrator's model
//	├── execute_tool SKILL  a call, from the proposal to the result
//	│   ├── review          the model review of it
//	│   │   └── chat MODEL  a question of the review
//	│   └── run SKILL       the skill itself
//	└── invoke_agent        an agent, from its start to its end
//	    ├── chat MODEL
//	    └── execute_tool SKILL
//
// and a call has an event for each gate. A turn whose caller is traced is part of
// the caller's trace. A turn that is gone on with after a restart begins a new
// trace, and the spans that were open when the process ended are lost. No trace
// context is sent to models, to skills or to the services that they reach.
//
// Names follow the semantic conventions for generative AI where those have one;
// the constants are this package's own, since Go's no longer have them all.
package telemetry
