package config

// Reload is what a running process does with a changed configuration.
type Reload struct {
	// AllowLoosening lets a reload take up what lets more through. That of the running
	// configuration counts, so no reload can turn it on.
	AllowLoosening bool `yaml:"allow_loosening" json:",omitempty"`
}
