package touch_test

import "testing"

// A mark in the middle of a word begins no comment, wherever the word stands
// and whatever it goes on from; one that begins a word does.
func TestMarksInWords(t *testing.T) {
	refused(t,
		"(: $1#; rm -rf /\n)", "(echo $a#; rm -rf /\n)", "(echo \"$1\"#; rm -rf /\n)", "(echo ${a}#; rm -rf /\n)", "(echo $?#; rm -rf /\n)",
		"(echo $(x)#; rm -rf /\n)",
		"(echo `x`#; rm -rf /\n)", "x=$(echo $1#; rm -rf /\n)", "(echo 'a'#; rm -rf /\n)", "(a=$b#; rm -rf /\n)", "(echo $1# && rm -rf /\n)",
		"(echo $1#; rm -rf /)", "(echo $1#$2#; rm -rf /\n)",
		"(echo $1#; (echo $2#; rm -rf /\n)\n)", "echo $(echo $1#; rm -rf /)", "{ (echo $1#; rm -rf /\n); }", "(echo a#; rm -rf /\n)", "* $1#",
		"(* $1#\n)",
	)
	passes(t,
		"(echo $1 # rm -rf /\n)", "echo a # rm -rf /", "(echo a; # rm -rf /\n)", "(echo $1#)", "echo $#", "echo ${a#b} ${a##*/} ${#a}",
		"echo $((16#ff))", "echo 'a#b' \"a#b\" a#b", "(echo $(date)#x)",
		"# rm -rf /", "x=$(ls # rm -rf /\n)", "curl https://a.example/b#c", "(a)# rm -rf /",
	)
}
