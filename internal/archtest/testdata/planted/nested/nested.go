package nested

func init() {}
