package sandbox

// Rules are the rules of programs.
var Rules = rules
