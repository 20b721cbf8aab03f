package deeper

import _ "example.test/m/b/other"
import _ "example.test/m/b"
