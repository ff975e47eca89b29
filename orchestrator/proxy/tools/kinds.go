package tools

import "github.com/vedette-dev/vedette/skills"

// kind is a tool that a provider defines and clients run. Requests name it and hold no parameters.
type kind struct {
	parameters string
	marks      map[string]skills.Annotation
}

// kinds are the tools that Anthropic defines and clients run, after its documentation of client tools. Computer use has
// no entry: its calls are denied.
var kinds = map[string]kind{
	"bash": {`{"type":"object","properties":{"command":{"type":"string"},"restart":{"type":"boolean"}}}`,
		map[string]skills.Annotation{"command": skills.Shell}},
	"text_editor": {`{"type":"object","required":["command","path"],"properties":{
		"command":{"enum":["view","create","str_replace","insert","undo_edit"]},"path":{"type":"string"},"file_text":{"type":"string"},
		"old_str":{"type":"string"},"new_str":{"type":"string"},"insert_line":{"type":"integer"},"insert_text":{"type":"string"},
		"view_range":{"type":"array","items":{"type":"integer"}}}}`,
		map[string]skills.Annotation{"path": skills.Path, "file_text": skills.Content, "old_str": skills.Content, "new_str": skills.Content,
			"insert_text": skills.Content}},
	"memory": {`{"type":"object","required":["command"],"properties":{
		"command":{"enum":["view","create","str_replace","insert","delete","rename"]},"path":{"type":"string"},"file_text":{"type":"string"},
		"old_str":{"type":"string"},"new_str":{"type":"string"},"insert_line":{"type":"integer"},"insert_text":{"type":"string"},
		"old_path":{"type":"string"},"new_path":{"type":"string"},"view_range":{"type":"array","items":{"type":"integer"}}}}`,
		map[string]skills.Annotation{"path": skills.Path, "old_path": skills.Path, "new_path": skills.Path, "file_text": skills.Content,
			"old_str": skills.Content, "new_str": skills.Content, "insert_text": skills.Content}},
}
