package eval

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/internal/terminal"
)

// Build is what a program knows of its making.
type Build struct {
	Version, Revision string
	// Modified says that the revision is not all: something was changed since.
	Modified bool
}

// manifest is what decides about the results of a run. Format is 1.
type manifest struct {
	Format int `json:"format"`
	// Policy is the configuration's digest.
	Policy   string `json:"policy"`
	Grants   string `json:"grants"`
	NoReview bool   `json:"no_review"`
	// Answers is the digest of the file of answers; empty where models were
	// asked.
	Answers string `json:"answers"`
	// Ceiling is the digest of what bounds grants; empty where nothing does.
	Ceiling string `json:"ceiling,omitempty"`
	// Build is the program's: another one may decide otherwise. Where no revision
	// says which it is, it holds the digest of the program.
	Build string `json:"build"`
}

// newManifest returns the manifest of a run; without a file of results it is empty.
func newManifest(cfg *config.Config, o RunOptions, a answered) (manifest, error) {
	if o.Results.File == "" {
		return manifest{}, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return manifest{}, err
	}
	name, err := buildName(o.Build, exe)
	m := manifest{Format: 1, Policy: cfg.Digest(), Grants: o.Grants, NoReview: o.NoReview, Answers: a.digest, Build: name}
	if o.Ceiling != nil {
		m.Ceiling = o.Ceiling.Digest()
	}
	return m, err
}

// listDifferences says in words what two runs don't have in common.
func (m manifest) listDifferences(o manifest) []string {
	var out []string
	add := func(differ bool, format string, args ...any) {
		if differ {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(m.Format != o.Format, "the format (%d, now %d)", m.Format, o.Format)
	add(m.Policy != o.Policy, "the configuration (policy %.19s, now %.19s)", m.Policy, o.Policy)
	add(m.Grants != o.Grants, "--grants (%s, now %s)", m.Grants, o.Grants)
	add(m.NoReview != o.NoReview, "--no-review (%t, now %t)", m.NoReview, o.NoReview)
	add(m.Answers != o.Answers, "--answers")
	add(m.Ceiling != o.Ceiling, "--intent or --ceilings")
	add(m.Build != o.Build, "the build of vedette (%s, now %s)", m.Build, o.Build)
	return out
}

// writeBeside writes the manifest beside the file that it is to replace, and returns
// where.
func (m manifest) writeBeside(name string) (string, error) {
	if info, err := os.Lstat(name); err == nil && info.IsDir() {
		return "", fmt.Errorf("%s can't be written: it is a folder", name)
	}
	var b bytes.Buffer
	if err := terminal.WriteJSON(&b, m, false); err != nil {
		return "", err
	}
	next, err := createBeside(name)
	if err != nil {
		return "", err
	}
	_, err = next.Write(b.Bytes())
	if err = errors.Join(err, next.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("%s can't be written: %w", next.Name(), advice.CauseOf(err)), os.Remove(next.Name()))
	}
	return next.Name(), nil
}

func manifestName(name string) string { return name + ".manifest.json" }

func isOwnManifest(name string) bool {
	b, err := readRegular(name)
	var m manifest
	return err == nil && json.Unmarshal(b, &m) == nil && m.Format != 0
}

// buildName tells a build from every other.
func buildName(b Build, program string) (string, error) {
	switch {
	case b.Revision != "" && !b.Modified:
		return b.Version + " " + b.Revision, nil
	case program == "":
		return b.Version, nil
	}
	digest, err := programDigest(program)
	return b.Version + " " + digest, err
}

// programDigest is the digest of the program that runs. A build without a
// revision, or with changes on top of it, is known by nothing else.
func programDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s can't be read: %w", path, advice.CauseOf(err))
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("%s can't be read: %w", path, advice.CauseOf(err))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
