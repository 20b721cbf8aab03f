package ceiling

// Groups returns how many groups of requests w remembers.
func (w *Window) Groups() int { return w.log.len() }
