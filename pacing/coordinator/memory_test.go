package coordinator_test

import (
	"testing"

	"collect/pacing/coordinator"
	"collect/pacing/coordinator/coordinatortest"
)

func TestMemory(t *testing.T) {
	coordinatortest.Test(t, nil, func(t *testing.T, rules coordinator.Rules) coordinator.Coordinator {
		m, err := coordinator.NewMemory(rules, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
}
