package code

// Read is a stand-in.
func Read(lang, text string) Findings { return Findings{} }
