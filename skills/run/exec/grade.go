package exec

// The values of the isolation option.
const (
	IsolationAuto       = "auto"
	IsolationFull       = "full"
	IsolationStrict     = "landlock-strict"
	IsolationLandlock   = "landlock"
	IsolationNamespaces = "namespaces" // what full was called first
	IsolationNone       = "none"
)

// The grades that a result names, the strongest first. Older records hold
// "namespaces" and "landlock+namespaces" too.
const (
	GradeFull       = "full"
	GradeFullNoProc = "full-noproc" // full without /proc, where the system masks it
	GradeStrict     = "landlock-strict"
	gradeBoth       = "landlock+namespaces" // landlock, with namespaces for processes and network
	GradeLandlock   = "landlock"
	GradeNone       = "none"
)
