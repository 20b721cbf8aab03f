package cmd

// What is said of a database that must be mended, and how it is.

func writeOlder(p *problem, _ error, sc scene) {
	p.Headline = "the database was made by an older version of collect"
	p.At = sc.State
	p.Saved = "everything; nothing was changed"
	p.Next = "the next run brings it up to date and keeps what is in it"
	if sc.Connector != "" {
		p.Do = []step{{"to do it now:", sc.command("run")}}
	}
}

func writeDamaged(p *problem, err error, sc scene) {
	p.Headline = "the database is damaged"
	p.At = sc.State
	p.Why = plainText(err)
	p.Saved = "nothing more was changed; keep a copy of the file and of those beside it"
	p.Do = []step{
		{"see how much:", "collect doctor" + sc.Flags},
		{"go back to a backup:", "collect restore FILE" + sc.Flags},
		{"or take out what can be read:", "collect export NAME STREAM --salvage" + sc.Flags},
	}
}
