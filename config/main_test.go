package config_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if loading leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
