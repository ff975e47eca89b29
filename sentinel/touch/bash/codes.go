package bash

import "strings"

// The closed list of codes in Dangers.
const (
	RmRoot        = "rm_root"        // everything is removed
	RmHome        = "rm_home"        // a home folder, or all that is in it
	RmSystem      = "rm_system"      // a system tree, or all that is in it
	MakeFS        = "mkfs"           // a file system is made over what is there
	DeviceWrite   = "device_write"   // a device is overwritten or repartitioned
	ForkBomb      = "fork_bomb"      // processes breed until none can start
	ChmodTree     = "chmod_tree"     // root, a system tree or a home is opened to all
	ChownTree     = "chown_tree"     // root, a system tree or a home changes hands
	MoveTree      = "move_tree"      // root, a system tree or a home is moved away
	KillAll       = "kill_all"       // every process is killed
	VolumeDestroy = "volume_destroy" // a volume, a pool or its key is destroyed
	// Operator is this program's own command that only its operators may give:
	// it pauses, lifts a pause, or erases or opens what is kept.
	Operator = "operator_command"
)

// The closed list of codes in Doubts.
const (
	OpaqueCommand = "opaque_command" // what runs can't be known
	UnsetTree     = "unset_tree"     // a removal that is of root if a variable is empty
	UnknownTarget = "unknown_target" // a tree is removed, or a device written, that can't be known
	VolumeRemoval = "volume_removal" // a volume is removed, the tool will ask

	ProjectWipe  = "project_wipe"     // the working tree, or its history, is removed as a whole
	CloudDestroy = "cloud_destroy"    // resources or data in a cloud or a service are deleted
	DatabaseLoss = "database_destroy" // a database, a table or a queue is dropped or emptied
	VolumeLoss   = "volume_destroy"   // a container's volumes or a virtual machine are deleted
	BackupLoss   = "backup_destroy"   // backups are deleted
	KeyLoss      = "key_destroy"      // a secret key is deleted
	Persistence  = "persistence"      // something is made to run later, or at every start
)

// The closed list of codes in Unread.
const (
	UnreadOption  = "unread_option"  // an option before code or a command that the program's row does not name
	UnreadProgram = "unread_program" // a program without a row acts on a device or a core path, or gets code
	UnreadCode    = "unread_code"    // inline code in another language that may do harm
	UnreadTarget  = "unread_target"  // what is removed or overwritten comes from a pipe, a loop or a search
	UnreadBudget  = "unread_budget"  // the line needs more than the budget
	SecretSent    = "secret_sent"    // credentials or the environment go into a network client
	RemoteShell   = "remote_shell"   // a shell is handed to another machine
)

// The closed list of codes in Changes.
const (
	RemoteChange     = "remote_change"     // something on another machine or service
	RemoteRemoval    = "remote_removal"    // the same, taken away
	SystemChange     = "system_change"     // packages, services, accounts, mounts, the kernel
	SystemRemoval    = "system_removal"    // a package or an account is removed
	ProcessChange    = "process_change"    // a process is signalled
	ContainerChange  = "container_change"  // containers, images, networks of this machine
	ContainerRemoval = "container_removal" // the same, removed
	HistoryChange    = "history_change"    // a repository's history, index or working tree
	HistoryRemoval   = "history_removal"   // files or commits of it are dropped
	DatabaseChange   = "database_change"   // rows, tables or keys of a database
)

// DangerCodes returns the codes that Dangers may hold.
func DangerCodes() []string {
	return []string{RmRoot, RmHome, RmSystem, MakeFS, DeviceWrite, ForkBomb, ChmodTree, ChownTree, MoveTree, KillAll, VolumeDestroy, Operator}
}

// DoubtCodes returns the codes that Doubts may hold.
func DoubtCodes() []string {
	return []string{OpaqueCommand, UnsetTree, UnknownTarget, VolumeRemoval, ProjectWipe, CloudDestroy, DatabaseLoss, VolumeLoss, BackupLoss,
		KeyLoss, Persistence}
}

// UnreadCodes returns the codes that Unread may hold.
func UnreadCodes() []string {
	return []string{UnreadOption, UnreadProgram, UnreadCode, UnreadTarget, UnreadBudget, SecretSent, RemoteShell}
}

// ChangeCodes returns the codes that Changes may hold.
func ChangeCodes() []string {
	return []string{
		RemoteChange, RemoteRemoval, SystemChange, SystemRemoval, ProcessChange, ContainerChange, ContainerRemoval,
		HistoryChange, HistoryRemoval, DatabaseChange,
	}
}

// Removes reports whether a change takes something away.
func Removes(code string) bool { return strings.HasSuffix(code, "_removal") }
