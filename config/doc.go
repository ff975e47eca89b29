// Package config reads Vedette's YAML configuration into validated plain
// structs that know where each value was written.
//
//	cfg, err := config.Load("vedette.yaml", config.Options{})
//
// Load (a file), Parse (bytes, with an fs.FS for includes) and Default (no file
// at all) are the three ways to a Config. Every default is the safe one, every
// path in a loaded Config is absolute, and Config.Skills holds compiled skills.
//
// # Errors
//
// A mistake is an *Error: "vedette.yaml:14:7: unknown key "permision"; did you
// mean "permissions"?". All mistakes of all files are returned at once, sorted,
// as Errors. Unknown keys, words and skills are mistakes, and so are a key that
// stands twice, a rule that can match nothing and an include without a file: a
// typo never widens what is allowed.
//
// Other packages check their own options later. They return errors that have
// the methods ConfigPath() string and ConfigMessage() string (such as
// *skills.PathError), and Config.Locate gives them a position. A path is made
// of keys and indices: "permissions[1].when", "models.fast.base_url". A skill
// stands in brackets because its name has dots: "skills[email.send].run.http.url";
// SkillPath builds such a path and Config.LocateSkill takes errors whose paths
// start at the skill ("run.http.url").
//
// # YAML
//
// YAML 1.2, one document a file, at most MaxFile bytes. The word off is text
// and needs no quotes, here or in an editor that reads YAML 1.2; quotes do no
// harm. Aliases work while the document stays small when written out; merge
// keys, tags and explicit keys are refused. ${NAME} and ${NAME:-default} are
// replaced in values, never in keys, and $${ stands for ${. A replaced value is
// always text or what its key asks for: it can't add structure.
//
// # Editors
//
// vedette.schema.json and skill.schema.json in this folder are what Schema and
// SkillSchema return: name one in a file's first line,
// "# yaml-language-server: $schema=…". They come from the tags that Load reads;
// a test fails when they differ (write them with go test ./config -update).
//
// # What not to do
//
// Don't print a Secret's Reveal, don't keep a Config that came with an error
// (it is nil), and don't change a Config: it is shared after loading.
package config
