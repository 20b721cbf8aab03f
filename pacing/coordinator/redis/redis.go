// Package redis is a coordinator in Redis, for the nodes of several machines.
//
// All of a report is one script, so that reports count one after the other, by
// the clock of the server. A server that was started again, or that was a
// replica, has another run ID; what it remembers may be older than what was
// granted, and counts as lost; so does a key that the server evicted. A user
// needs the commands EVALSHA, EVAL, TIME, INFO, HGETALL, HSET, DEL and PEXPIRE.
// Keys are gone after a day without reports.
package redis

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"

	"collect/pacing/coordinator"
)

// beat is [coordinator.Compute] in Lua. The suite holds it to that.
//
//go:embed beat.lua
var beat string

// A Coordinator grants shares by what a Redis server remembers.
type Coordinator struct {
	client redis.Scripter
	rules  coordinator.Rules
	script *redis.Script
}

// New returns a coordinator. The client stays the caller's. It should have
// ContextTimeoutEnabled, so that a beat at a server that hangs ends with its
// context, and no retries: a report that was sent twice is stale.
func New(client redis.Scripter, rules coordinator.Rules) (*Coordinator, error) {
	if err := rules.Check(); err != nil {
		return nil, err
	}
	return &Coordinator{client: client, rules: rules, script: redis.NewScript(beat)}, nil
}

// Beat implements [coordinator.Coordinator].
func (c *Coordinator) Beat(ctx context.Context, key string, r coordinator.Report) (coordinator.Grant, error) {
	if err := r.Check(); err != nil {
		return coordinator.Grant{}, err
	}
	leaving := 0
	if r.Leaving {
		leaving = 1
	}
	got, err := c.script.Run(ctx, c.client, []string{"collect:in-flight:" + key},
		r.ID, r.Seq, r.Limit, r.InFlight, r.Share, r.Gen, r.Lease.Microseconds(), leaving,
		string(c.rules.Aggregate), string(c.rules.Split)).Int64Slice()
	switch {
	case err != nil:
		return coordinator.Grant{}, fmt.Errorf("coordinator in redis: %w", err)
	case len(got) == 1:
		return coordinator.Grant{}, coordinator.ErrStale
	case len(got) != 6:
		return coordinator.Grant{}, fmt.Errorf("coordinator in redis: %d numbers, want 6", len(got))
	}
	return coordinator.Grant{
		Share: int(got[0]), Gen: got[1], Limit: int(got[2]), Fair: int(got[3]), Nodes: int(got[4]), At: got[5],
	}, nil
}
