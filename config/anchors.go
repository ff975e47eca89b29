package config

import "time"

// LedgerAnchor is a place outside of the database that keeps the newest signed head. It has one of
// File, Tiles, HTTP, Witness and S3.
type LedgerAnchor struct {
	// Name names the anchor in the log and in metrics.
	Name string `yaml:"name" cfg:"required,pattern=id"`
	// Every is how often the newest head is sent.
	Every time.Duration `yaml:"every" cfg:"min=1s,max=24h"`
	// Required refuses a start where the anchor can't be read.
	Required bool          `yaml:"required"`
	File     AnchorFile    `yaml:"file"`
	HTTP     AnchorHTTP    `yaml:"http"`
	Witness  AnchorWitness `yaml:"witness"`
	Tiles    AnchorTiles   `yaml:"tiles"`
	S3       AnchorS3      `yaml:"s3"`
}

// AnchorFile is a file that heads are appended to.
type AnchorFile struct {
	Path string `yaml:"path" cfg:"required"`
}

// AnchorHTTP is a server that heads are posted to.
type AnchorHTTP struct {
	URL Secret `yaml:"url" cfg:"required"`
	// ReadURL is where heads are read from at a start; empty reads none.
	ReadURL Secret `yaml:"read_url"`
	// Token is sent as a bearer token.
	Token Secret `yaml:"token"`
}

// AnchorWitness is a witness of C2SP's tlog-witness, which cosigns heads.
type AnchorWitness struct {
	URL string `yaml:"url" cfg:"required"`
	// Key is the witness's public key.
	Key string `yaml:"key" cfg:"required"`
	// File keeps the cosigned heads; empty keeps none.
	File string `yaml:"file"`
}

// AnchorTiles is a folder that the ledger's tree is published in.
type AnchorTiles struct {
	Path string `yaml:"path" cfg:"required"`
}

// AnchorS3 is a bucket whose object lock keeps heads.
type AnchorS3 struct {
	Endpoint string `yaml:"endpoint" cfg:"required"`
	Region   string `yaml:"region" cfg:"required"`
	Bucket   string `yaml:"bucket" cfg:"required"`
	// Prefix begins the names of objects.
	Prefix    string `yaml:"prefix"`
	AccessKey Secret `yaml:"access_key" cfg:"required"`
	SecretKey Secret `yaml:"secret_key" cfg:"required"`
	// Retain is how long each object is locked; zero leaves it to the bucket.
	Retain time.Duration `yaml:"retain" cfg:"min=24h,max=876000h"`
	// Governance locks in the mode GOVERNANCE in place of COMPLIANCE.
	Governance bool `yaml:"governance"`
}

func (a *LedgerAnchor) setDefaults() { *a = LedgerAnchor{Every: time.Minute} }

// anchorKinds are the keys of which an anchor has one.
var anchorKinds = []string{"file", "tiles", "http", "witness", "s3"}

// AnchorFiles are the files that heads are appended to, and the folders of tiles. No call may write one.
func (l Ledger) AnchorFiles() (out []string) {
	for _, a := range l.Anchors {
		for _, path := range []string{a.File.Path, a.Witness.File, a.Tiles.Path} {
			if path != "" {
				out = append(out, path)
			}
		}
	}
	return out
}
