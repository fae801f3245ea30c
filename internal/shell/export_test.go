package shell

// Rules are the rules of programs.
var Rules = rules
