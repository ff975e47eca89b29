// Package config reads Vedette's YAML configuration into validated plain structs
// that know where each value was written.
//
//	cfg, err := config.Load("vedette.yaml", config.Options{})
//
// Load makes a Config of a file, Parse of bytes, with an fs.FS for includes. Default makes
// one without any file. Every default is the safe one, every
// path in a loaded Config is absolute, and Config.Skills holds compiled skills.
//
// # Errors
//
// A mistake is an *Error: "vedette.yaml:14:7: unknown key "permision"; did you
// mean "permissions"?". All mistakes of all files are returned at once, sorted, as
// Errors. Unknown keys, words and skills are mistakes. So are a key that stands
// twice, a rule that can match nothing and an include without a file. A typo never
// widens what is allowed.
//
// Other packages check their own options later. Their errors have the methods
// ConfigPath() string and ConfigMessage() string, as *skills.PathError has.
// Config.Locate gives such errors a position. A path is made of keys and indices:
// "permissions[1].when", "models.fast.base_url". A skill stands in brackets
// because its name has dots: "skills[email.send].run.http.url". SkillPath builds
// such a path. Config.LocateSkill takes errors whose paths start at the skill
// ("run.http.url").
//
// # YAML
//
// YAML 1.2, one document a file, at most MaxFile bytes. The word off is text and
// needs no quotes, here or in an editor that reads YAML 1.2. Quotes do no harm.
// Aliases work while the document stays small when written out. Merge keys, tags
// and explicit keys are refused. ${NAME} and ${NAME:-default} are replaced in
// values, never in keys, and $${ stands for ${. A replaced value is always text or
// what its key asks for: it can't add structure.
//
// # Editors
//
// vedette.schema.json and skill.schema.json in this folder are what Schema and
// SkillSchema return. Name one in a file's first line, "# yaml-language-server:
// $schema=…". Both come from the tags that Load reads. A test fails when they
// differ: write them with go test ./config -update.
//
// # What not to do
//
// Don't print a Secret's Reveal. Don't keep a Config that came with an error: it
// is nil. Don't change a Config: it is shared after loading.
package config
