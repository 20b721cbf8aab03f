package skipped

func init() {}
