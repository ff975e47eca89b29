package judge

import "slices"

// isRivalled reports whether results have another address of the name that the user wrote, unless the call reaches that one as well and the
// user's words name no part of this one. Of those met before this turn, the words of this turn choose.
func isRivalled(v *view, val value) bool {
	if !isEmail(val.fold) {
		return false
	}
	namesOwner := v.namesOwner
	if v.isPast(val) {
		namesOwner = v.own.namesOwner
	}
	own := namesOwner(val)
	for _, at := range metAddresses(v) {
		if at == val.fold || own == 0 && slices.ContainsFunc(v.values, func(o value) bool { return o.fold == at }) {
			continue
		}
		if n := namesOwner(value{kind: recipient, raw: at, fold: at}); n > 0 && n >= own {
			return true
		}
	}
	return false
}

// metAddresses returns the addresses in the results, each once.
func metAddresses(v *view) []string {
	if v.hasMet {
		return v.met
	}
	v.hasMet = true
	for _, r := range slices.Concat(v.trusted, v.untrusted) {
		eachAddress(r, func(_ kind, at string) bool {
			if isEmail(at) && !slices.Contains(v.met, at) {
				v.met = append(v.met, at)
			}
			return len(v.met) < maxValues
		})
	}
	return v.met
}
