package b

import (
	_ "driver.test/db/v3/conn"
	_ "example.test/m/a"
)
