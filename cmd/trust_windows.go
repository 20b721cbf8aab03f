package cmd

// distrust trusts every file: directories that every user can write to are
// rare here, and what is in one cannot be told by an owner alone.
func distrust(string) string { return "" }
