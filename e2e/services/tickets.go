package services

// A Ticket is a record of the servers that keep what the tests give them. Its
// fields are the ones that every such server shows and that its storage holds.
type Ticket struct {
	ID      int    `json:"id"`
	Title   string `json:"title"`
	Updated string `json:"updated"` // RFC 3339, UTC, whole seconds
}

// A Desk is a server with tickets whose storage can be read and written beside
// its API.
type Desk interface {
	// URL is where the API is.
	URL() string
	// Fill replaces all tickets.
	Fill(tickets []Ticket) error
	// Put adds tickets, or replaces those with the same IDs.
	Put(tickets ...Ticket) error
	// Drop deletes tickets.
	Drop(ids ...int) error
	// Stored returns all tickets that the storage of the server holds.
	Stored() ([]Ticket, error)
	Close() error
}
