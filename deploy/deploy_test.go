package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// The configuration of the compose file is valid with what the file puts into the environment.
func TestConfigurationIsValid(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Environment map[string]string
			Image       string
		}
	}
	raw, err := os.ReadFile("compose.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(raw, &file))
	require.Contains(t, file.Services, "redis")
	for name, s := range file.Services {
		require.NotContains(t, s.Image, "/", "the image of %s names a registry", name)
	}
	for name, value := range file.Services["vedette"].Environment {
		if _, otherwise, ok := strings.Cut(strings.TrimSuffix(value, "}"), ":-"); ok {
			value = otherwise
		}
		if strings.HasPrefix(value, "${VEDETTE_PUBLIC_URL:?") {
			value = "https://vedette.example.com"
		}
		t.Setenv(name, value)
	}
	cfg, err := config.Load("vedette.yaml", config.Options{})
	require.NoError(t, err)
	require.Equal(t, "https://vedette.example.com", cfg.Server.PublicURL)
	require.Equal(t, []string{"10.80.0.0/24"}, cfg.Server.Proxies)
}

// The images are built without a registry's host in their names, by this module's Go, and run as no root.
func TestContainerfile(t *testing.T) {
	raw, err := os.ReadFile("Containerfile")
	require.NoError(t, err)
	mod, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(mod), "\ngo ")
	version := strings.Join(strings.Split(rest, ".")[:2], ".")
	require.Contains(t, string(raw), "FROM golang:"+version+" AS build\n")
	require.Contains(t, string(raw), "\nUSER 65532:65532\n")
	for line := range strings.Lines(string(raw)) {
		if image, ok := strings.CutPrefix(line, "FROM "); ok {
			require.NotContains(t, image, "/")
		}
	}
}

// systemd knows each setting of the unit. Where systemd-analyze isn't there, its form alone is looked at.
func TestUnit(t *testing.T) {
	raw, err := os.ReadFile("vedette.service")
	require.NoError(t, err)
	for _, must := range []string{"\nNoNewPrivileges=yes\n", "\nProtectSystem=strict\n", "\nDynamicUser=yes\n",
		"\nCapabilityBoundingSet=\n", "/vedette serve "} {
		require.Contains(t, string(raw), must)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze isn't there")
		return
	}
	// The program must be there for verify: the unit is checked with one that is.
	unit := filepath.Join(t.TempDir(), "vedette.service")
	text := strings.ReplaceAll(string(raw), "/usr/local/bin/vedette", "/bin/true")
	require.NoError(t, os.WriteFile(unit, []byte(text), 0o600))
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", unit).CombinedOutput()
	require.NoError(t, err, string(out))
	require.NotContains(t, string(out), "vedette.service:", string(out))
	out, err = exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--threshold=20", "--no-pager", unit).CombinedOutput()
	require.NoError(t, err, "the unit is more exposed than 2.0: %s", out)
}
