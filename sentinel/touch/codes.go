package touch

import "github.com/vedette-dev/vedette/sentinel/touch/bash"

// The closed list of codes in Touch.Dangers: see package bash.
const (
	RmRoot        = bash.RmRoot
	RmHome        = bash.RmHome
	RmSystem      = bash.RmSystem
	MakeFS        = bash.MakeFS
	DeviceWrite   = bash.DeviceWrite
	ForkBomb      = bash.ForkBomb
	ChmodTree     = bash.ChmodTree
	ChownTree     = bash.ChownTree
	MoveTree      = bash.MoveTree
	KillAll       = bash.KillAll
	VolumeDestroy = bash.VolumeDestroy
	Operator      = bash.Operator
)

// The closed list of codes in Touch.Doubts: see package bash.
const (
	OpaqueCommand = bash.OpaqueCommand
	UnsetTree     = bash.UnsetTree
	UnknownTarget = bash.UnknownTarget
	VolumeRemoval = bash.VolumeRemoval
	ProjectWipe   = bash.ProjectWipe
	CloudDestroy  = bash.CloudDestroy
	DatabaseLoss  = bash.DatabaseLoss
	VolumeLoss    = bash.VolumeLoss
	BackupLoss    = bash.BackupLoss
	KeyLoss       = bash.KeyLoss
	Persistence   = bash.Persistence
)

// The closed list of codes in Touch.Unread: see package bash.
const (
	UnreadOption  = bash.UnreadOption
	UnreadProgram = bash.UnreadProgram
	UnreadCode    = bash.UnreadCode
	UnreadTarget  = bash.UnreadTarget
	UnreadBudget  = bash.UnreadBudget
	SecretSent    = bash.SecretSent
	RemoteShell   = bash.RemoteShell
)

// The closed list of codes in Touch.Changes: see package bash.
const (
	RemoteChange     = bash.RemoteChange
	RemoteRemoval    = bash.RemoteRemoval
	SystemChange     = bash.SystemChange
	SystemRemoval    = bash.SystemRemoval
	ProcessChange    = bash.ProcessChange
	ContainerChange  = bash.ContainerChange
	ContainerRemoval = bash.ContainerRemoval
	HistoryChange    = bash.HistoryChange
	HistoryRemoval   = bash.HistoryRemoval
	DatabaseChange   = bash.DatabaseChange
)

// DangerCodes returns the codes that Touch.Dangers may hold.
func DangerCodes() []string { return bash.DangerCodes() }

// DoubtCodes returns the codes that Touch.Doubts may hold.
func DoubtCodes() []string { return bash.DoubtCodes() }

// ChangeCodes returns the codes that Touch.Changes may hold.
func ChangeCodes() []string { return bash.ChangeCodes() }

// UnreadCodes returns the codes that Touch.Unread may hold.
func UnreadCodes() []string { return bash.UnreadCodes() }

// Removes reports whether a change takes something away.
func Removes(code string) bool { return bash.Removes(code) }

// MaxShell is the longest command line in bytes; a longer one is Unparsed.
const MaxShell = bash.MaxShell
