//go:build !unix

package code_test

import "time"

var begin = time.Now()

// spentTime is the time since the begin: there is no other here.
func spentTime() time.Duration { return time.Since(begin) }
