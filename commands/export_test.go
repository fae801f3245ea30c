package commands

// NextOf says what to run next after several tasks.
var NextOf = nextSteps
