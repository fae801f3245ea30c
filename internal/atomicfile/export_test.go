package atomicfile

// CopyIn lets the tests copy as a move across file systems does.
var CopyIn = copyIn
