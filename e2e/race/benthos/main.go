// Command benthos is Redpanda Connect's engine with what the race needs: HTTP,
// files and the processors without dependencies.
package main

import (
	"context"

	"github.com/redpanda-data/benthos/v4/public/service"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
)

func main() { service.RunCLI(context.Background()) }
