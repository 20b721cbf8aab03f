package stray

import _ "example.test/m/a"
