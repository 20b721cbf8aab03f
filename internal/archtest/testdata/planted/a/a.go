package a

import (
	_ "driver.test/db/v3"
	_ "example.test/m/b"
	web "net/http"
	"os"
	_ "shared.test/x/sync"
	_ "unheard.test/of"
)

func init() {
	os.Exit(1)
	_ = web.DefaultClient
}

type door struct{}

func (door) init() {} // a method may have the name
