//go:build !unix

package credential

// readOwnFile finds nothing where a file's mode doesn't say whose it is.
func readOwnFile(string, string) (string, error) { return "", errMissing }
