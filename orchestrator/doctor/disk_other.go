//go:build !unix

package doctor

func checkAccess(string) error { return nil }

func freeBytes(string) (uint64, bool) { return 0, false }
