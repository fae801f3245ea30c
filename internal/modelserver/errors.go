package modelserver

import "errors"

// ErrNoNow says that a Server was to be made without a clock.
var ErrNoNow = errors.New("expected a clock, got nothing")
