package guard

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func indexes() map[string]*index {
	return map[string]*index{
		"core": coreIndex, "stores": storesIndex, "watched": watchedIndex, "later": laterIndex,
		"startup": startupIndex, "system": systemIndex, "users": usersIndex, "leaving": leavingIndex,
	}
}

// An index finds what a search through the whole list finds: for each place as
// it is written, below a folder, with something below it, longer than its name,
// as a pattern, and for paths that begin like places of another list.
func TestIndexFindsWhatAScanFinds(t *testing.T) {
	var paths [][]string
	for _, x := range indexes() {
		for _, pl := range x.list {
			plain := strings.ReplaceAll(strings.Join(pl.at, "/"), "…", "")
			for _, p := range []string{
				plain, "home/ann/" + plain, plain + "/sub/x", plain + "0", "x" + plain, "etc/" + plain, ".config/" + plain, plain + "/.ssh/id_rsa",
				plain[:len(plain)-1] + "?", "*/" + plain, "{a,b}/" + plain, "[a-z]*", "root/" + plain, "root/.ssh",
			} {
				paths = append(paths, splitPath(p))
			}
		}
	}
	held := map[string]int{}
	for name, x := range indexes() {
		for _, parts := range paths {
			for _, without := range []string{"", PlaceRootHome} {
				want := x.tryEachPlace(parts, without)
				require.Equal(t, want, x.findSignal(parts, without), "%s: %v", name, parts)
				if want != "" {
					held[name]++
				}
			}
		}
		require.Positive(t, held[name], name)
	}
}

// A name of brackets alone is no pattern of anything, and breaks nothing.
func TestBracketsAlone(t *testing.T) {
	for _, p := range []string{"{{{", "{{{}}}", "[[[", "/a/{{{/b", "{}{}{}"} {
		require.Empty(t, coreIndex.tryEachPlace(splitPath(p), ""), p)
	}
}

// FuzzIndex holds index and scan together on any path.
func FuzzIndex(f *testing.F) {
	f.Add("/etc/cron.d/x")
	f.Add("{{{")
	f.Add("/home/a/.config/*/credentials.env")
	f.Fuzz(func(t *testing.T, p string) {
		if len(p) > 256 {
			return
		}
		parts := splitPath(p)
		for name, x := range indexes() {
			require.Equal(t, x.tryEachPlace(parts, ""), x.findSignal(parts, ""), name)
		}
	})
}
