//go:build !linux

package assembly_test

func dieWhereAsked() {}
