package sandbox

// Rules are the rules of programs.
const Rules = rules
