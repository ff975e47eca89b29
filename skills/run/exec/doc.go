// Package exec runs a skill as a program: `run: {exec: {argv: [...]}}`.
//
// The package isn't stable: docs/api.md lists those that are.
//
// The program is started from a list of arguments, never through a shell. It
// gets an environment of the listed variables alone, no standard input unless
// configured, a process group of its own, limits on what it may print, and as
// much isolation as was asked for. When its time is up, or its caller gives up,
// the whole group is killed.
//
// # Arguments
//
// An element of argv that is `{{name}}` as a whole is replaced by the call's
// argument of that name: a text as it is, a number or boolean as it is written,
// a list by one element per item. A value that starts with "-" would be read as
// an option and is refused, unless a "--" stands before the placeholder or
// allow_dash is set. An argument that is absent drops out of the list; where
// that could rob an option of its value, New refuses the configuration.
//
// # Who it runs for
//
// caller_env names the variables in which the program finds its caller, each of them
// optional: `caller_env: {user: VEDETTE_USER, conversation: …, call: …,
// idempotency_key: …}`. None is set unless it is named. A user's id is a stranger's
// text: quote it in scripts. credentials are variables with the user's own
// credential, `credentials: {GITHUB_TOKEN: github}`, where github stands under
// credentials in the configuration; a user without one gets credential_missing, and
// nothing starts. A skill that takes a command line can have none. None of these
// can be a variable that steers programs or their loader, such as LD_PRELOAD.
//
// What the program prints is scrubbed of credentials, of variables that look like
// secrets by name or value, of passwords in the addresses that variables hold, and
// of fixed arguments that look like secrets.
//
// # Isolation
//
// The isolation option says what must hold. Result.Isolation names the grade that
// was in force:
//
//	auto             full; else landlock-strict where the skill only reads and has
//	                 no path in write; else the call fails as not_started
//	full             namespaces for users, mounts, processes, network, IPC and host
//	                 name; a tree of the declared paths; Landlock; a filter of
//	                 system calls. The grade is "full", or "full-noproc" where the
//	                 system lets us mount no /proc
//	landlock-strict  Landlock and a filter that also refuses sockets and changes of
//	                 metadata. For readers: git init, gcc and tar need more
//	landlock         Landlock and the filter, with namespaces for processes,
//	                 network and IPC where they can be had. The grade is
//	                 "landlock+namespaces" or "landlock"
//	namespaces       what full was called first
//	none             nothing; for programs that are trusted like Vedette itself
//
// Nothing falls back to none. A step of the isolation that fails is a StepError with
// the step's name and its remedy, and the program has not run. docs/sandbox.md says
// which attack each layer stops, and what stays open in which grade.
//
// Under every grade but none the program sees the system's programs and libraries,
// certificates of public authorities, and the paths in read and write. It holds no
// capability and can't get one. It can't use the network unless network or egress is set.
//
// Under full it has besides: a /tmp, a /dev/shm and a home folder of its own that
// end with it, of at most 1 GiB each; five devices; a /proc with its own processes
// alone; its own loopback; and files of /etc that name its user and no other. The
// home folder is HOME of its environment, or /home/user. With /proc in read it gets
// the whole of its own /proc, read-only; never the system's. Its PID 1 reaps and
// can't be signalled; nothing that the program started outlives it. Where Vedette
// runs as root, only root's number exists inside: a write root of another owner
// fails at the step "write root".
//
// Under landlock-strict the system's /proc is readable, and GIT_CONFIG_NOSYSTEM=1
// is set. Plain landlock leaves open: metadata (chmod, utime, stat) of files of the
// same owner, and Unix sockets by path before Landlock ABI 9. It restricts TCP
// alone before ABI 10, and TCP not at all before ABI 4; a program without network is
// refused there unless it has a network namespace.
//
// Isolation is applied by a child that is this binary, started again, since a
// process can't be restricted from outside and restricting ourselves would be
// wrong. So main, and TestMain of tests, must call MaybeChild before all else. A
// binary that imports this package does nothing at its start but look at its name;
// the child takes over before most packages are initialised (package isolate).
//
// # Limits
//
// limits bounds one run: cpu (time of each process, default 10m), file_size (bytes,
// default 4 GiB), open_files (default 4096), address_space (bytes, no default: node
// and Go reserve gigabytes), processes (default 1024, counted per user namespace) and
// memory (bytes of all processes together, no default). memory needs a cgroup v2 that
// can be written, or the call fails as not_started. For root the kernel applies no
// limit on processes: full and landlock+namespaces bound its process numbers instead
// (Linux 6.14 and newer), and every grade but none uses a cgroup where it can be had.
// BoundsProcesses says whether one of them holds under full.
//
// A program that is ended by a signal fails with an ExitError whose code is 128 and
// the signal's number, as in shells; how far it got is unknown.
//
// # Network
//
// egress lists hosts with ports, `egress: ["pypi.org:443", "*.example.com:443"]`. The
// program has a network of its own, in which every connection ends at Vedette. Vedette
// connects to the listed hosts alone, by the rules of package egress, and tells what
// the program did and tried in Result.Egress. It needs the full grade. The program gets
// HTTPS_PROXY and HTTP_PROXY, and a resolver for what doesn't heed them.
//
// # Writing
//
// With `write_mode: snapshot` the paths in write are an overlay while the program runs,
// which needs the grade full. What the program changed is listed when it has ended, and
// the result's Follow asks for the call exec.commit, whose executor NewCommit makes. What
// no such call commits never reaches the paths: heed Follow, or leave Options.State empty.
// max_deleted, of files and percent, says from where on that call must ask a person: of files
// that are gone, or of whose old content less than half is left. write_limit bounds what the
// program may write, in bytes, files without a name included. A program that is ended by force
// leaves nothing. Effects over the network aren't undone. See package snapshot.
//
// # What not to do
//
// Don't name a shell with a script made of placeholders: New refuses it. Don't
// list a variable that holds a credential unless the program needs it. Don't
// put a folder that holds Vedette's configuration, keys or database in read or write:
// New refuses what Options.Guarded lists.
//
// The package isn't stable but for MaybeChild: programs reach the rest through
// orchestrator/assembly.
package exec
