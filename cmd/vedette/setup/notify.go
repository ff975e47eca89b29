package setup

import (
	"context"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
)

// ChannelTest is what became of a test message.
type ChannelTest = assembly.ChannelTest

// TryChannels sends a test message to the channels that are named, or to all of the configuration.
// It opens no database. The error is about the configuration or the names.
func (p Program) TryChannels(ctx context.Context, config string, names []string) ([]ChannelTest, error) {
	cfg, err := p.Load(config)
	if err != nil {
		return nil, err
	}
	list, err := assembly.NewChannels(cfg)
	if err != nil {
		return nil, InvalidConfig(config, err)
	}
	return assembly.TryChannels(ctx, list, names)
}
