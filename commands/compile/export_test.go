package compile

import "tercet/commands/syntax"

// CompileAnew is Compile that makes everything anew at each place where it stands.
func CompileAnew(f *syntax.File, env Env) (*Program, error) {
	if f.Hopeless {
		return Compile(f, env)
	}
	c := newCompiler(f, env)
	c.anew = true
	return c.compile()
}
