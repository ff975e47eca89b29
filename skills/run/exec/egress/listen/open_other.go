//go:build !linux

package listen

import "errors"

// Open fails: this system has no network namespaces.
func Open(Plan) ([]int, error) { return nil, errors.New("this system has no network namespaces") }
