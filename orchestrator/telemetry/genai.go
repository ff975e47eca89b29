package telemetry

import (
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// The attributes of spans. Those of the semantic conventions for generative AI
// are written out, since Go's package of them no longer has all.
const (
	attrOperation    = attribute.Key("gen_ai.operation.name")
	attrProvider     = attribute.Key("gen_ai.provider.name")
	attrSystem       = attribute.Key("gen_ai.system") // what older readers know the provider by
	attrRequestModel = attribute.Key("gen_ai.request.model")
	attrInputTokens  = attribute.Key("gen_ai.usage.input_tokens")
	attrOutputTokens = attribute.Key("gen_ai.usage.output_tokens")
	attrToolName     = attribute.Key("gen_ai.tool.name")
	attrToolType     = attribute.Key("gen_ai.tool.type")
	attrErrorType    = attribute.Key("error.type")
	attrServer       = attribute.Key("server.address")
	attrPort         = attribute.Key("server.port")
	attrStatus       = attribute.Key("http.response.status_code")

	attrRole      = attribute.Key("vedette.role")
	attrModel     = attribute.Key("vedette.model") // by its configured name
	attrSent      = attribute.Key("vedette.sent")
	attrWait      = attribute.Key("vedette.wait_ms")
	attrCost      = attribute.Key("vedette.cost_millionths")
	attrAttempt   = attribute.Key("vedette.attempt")
	attrDecision  = attribute.Key("vedette.decision.id")
	attrOutcome   = attribute.Key("vedette.outcome")
	attrGate      = attribute.Key("vedette.gate")
	attrCode      = attribute.Key("vedette.code")
	attrEffect    = attribute.Key("vedette.effect")
	attrOutward   = attribute.Key("vedette.outward")
	attrTainted   = attribute.Key("vedette.tainted")
	attrDegraded  = attribute.Key("vedette.degraded")
	attrElapsed   = attribute.Key("vedette.elapsed_us")
	attrMode      = attribute.Key("vedette.review.mode")
	attrFailure   = attribute.Key("vedette.review.failure")
	attrFrom      = attribute.Key("vedette.review.from")
	attrEscalated = attribute.Key("vedette.review.escalated")
	attrRunStatus = attribute.Key("vedette.run.status")
	attrResult    = attribute.Key("vedette.turn.result")
	attrResumed   = attribute.Key("vedette.turn.resumed")
	attrState     = attribute.Key("vedette.agent.state")
)

// The operations of the conventions.
const (
	opChat     = "chat"
	opTool     = "execute_tool"
	opAgent    = "invoke_agent"
	toolKind   = "function"
	compatible = "openai_compatible" // a server whose address is not on the list
)

// ModelInfo is what a span says of a model: how it is configured.
type ModelInfo struct {
	// Model is what the server calls it, BaseURL where the server is.
	Model, BaseURL string
}

// providers are known by the end of their host's name, in the conventions'
// words where those have one.
var providers = []struct{ host, name string }{
	{"api.openai.com", "openai"}, {".openai.azure.com", "azure.ai.openai"}, {".inference.ai.azure.com", "azure.ai.inference"},
	{"api.anthropic.com", "anthropic"}, {"api.mistral.ai", "mistral_ai"}, {"api.groq.com", "groq"}, {"api.deepseek.com", "deepseek"},
	{"api.x.ai", "x_ai"}, {"api.perplexity.ai", "perplexity"}, {"generativelanguage.googleapis.com", "gcp.gemini"},
	{".amazonaws.com", "aws.bedrock"}, {"openrouter.ai", "openrouter"},
}

// spanAttributes are the attributes that every span of a question to the model has.
func (i ModelInfo) spanAttributes(name string) []attribute.KeyValue {
	provider, host, port := compatible, "", 0
	if u, err := url.Parse(i.BaseURL); err == nil {
		host = u.Hostname()
		port, _ = strconv.Atoi(u.Port())
		if port == 0 {
			port = map[string]int{"http": 80, "https": 443}[u.Scheme]
		}
	}
	for _, p := range providers {
		if host == p.host || p.host[0] == '.' && strings.HasSuffix(host, p.host) {
			provider = p.name
		}
	}
	return []attribute.KeyValue{
		attrOperation.String(opChat), attrProvider.String(provider), attrSystem.String(provider),
		attrRequestModel.String(i.Model), attrModel.String(name), attrServer.String(host), attrPort.Int(port),
	}
}
