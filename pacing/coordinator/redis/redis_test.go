package redis_test

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"collect/internal/redistest"
	"collect/pacing/coordinator"
	"collect/pacing/coordinator/coordinatortest"
	"collect/pacing/coordinator/redis"
)

func open(t *testing.T, socket string, rules coordinator.Rules) coordinator.Coordinator {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Network: "unix", Addr: socket, ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { client.Close() })
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	c, err := redis.New(client, rules)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRedis(t *testing.T) {
	server, socket := redistest.Start(t)
	coordinatortest.Test(t, server, func(t *testing.T, rules coordinator.Rules) coordinator.Coordinator {
		return open(t, socket, rules)
	})
	t.Run("old memory", func(t *testing.T) {
		client := goredis.NewClient(&goredis.Options{Network: "unix", Addr: socket})
		defer client.Close()
		coordinatortest.OldMemory(t, open(t, socket, coordinator.Rules{}), func(key string) {
			if n, err := client.HSet(t.Context(), "collect:in-flight:"+key, "server", "another").Result(); err != nil || n != 0 {
				t.Fatalf("%d new fields, %v, want none", n, err)
			}
		})
	})
}
