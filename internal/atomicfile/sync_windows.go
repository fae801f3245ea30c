package atomicfile

import "os"

// syncDir does nothing: Windows cannot sync a directory.
func syncDir(*os.Root) error { return nil }
