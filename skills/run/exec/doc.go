// Package exec runs a skill as a program: `run: {exec: {argv: [...]}}`.
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
// The isolation option says what must hold:
//
//	auto        the best this system has; the result says which it was
//	landlock    Landlock, or the call fails as not_started
//	namespaces  a file system of its own by mount namespaces, or not_started
//	none        nothing; for programs that are trusted like Vedette itself
//
// Under landlock and namespaces the program sees the system's own programs and
// libraries, the paths in read and write, and nothing else, and holds no
// capability. It can't use the network unless network is set. Landlock is
// joined by process, network and IPC namespaces where the system lets us make
// them; then nothing that the program started outlives it, not even what left
// its process group. Result.Isolation names what was in force: "landlock
// +namespaces", "landlock", "namespaces" or "none". Plain "landlock" restricts
// TCP alone on kernels before Landlock ABI 10, and TCP not at all before ABI 4:
// a program without network is then refused under `isolation: landlock`, and
// runs with that gap under auto.
//
// Isolation is applied by a child that is this binary, started again, since a
// process can't be restricted from outside and restricting ourselves would be
// wrong. So main, and TestMain of tests, must call MaybeChild before all else.
//
// # Network
//
// egress lists hosts with ports, `egress: ["pypi.org:443", "*.example.com:443"]`. The
// program has a network of its own, in which every connection ends at Vedette. Vedette
// connects to the listed hosts alone, by the rules of package egress, and tells what
// the program did and tried in Result.Egress. It needs the full grade. The program gets
// HTTPS_PROXY and HTTP_PROXY, and a resolver for what doesn't heed them.
//
// # What not to do
//
// Don't name a shell with a script made of placeholders: New refuses it. Don't
// list a variable that holds a credential unless the program needs it. Don't
// put a folder that holds Vedette's configuration, keys or database in read.
package exec
