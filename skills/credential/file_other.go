//go:build !unix

package credential

// readOwn finds nothing where a file's mode doesn't say whose it is.
func readOwn(string, string) (string, error) { return "", errMissing }
