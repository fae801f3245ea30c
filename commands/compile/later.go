package compile

import "tercet/commands/syntax"

// later refuses words that are read and not run yet.
func (c *compiler) later() {
	refuse := func(pos syntax.Pos, what string) {
		c.report(pos, CodeUnsupported, "", "'%s' is not supported yet", what)
	}
	for _, w := range c.file.Front.Tiers[:min(1, len(c.file.Front.Tiers))] {
		refuse(w.Pos, "tiers")
	}
	syntax.Walk(c.file, func(node any) bool {
		switch n := node.(type) {
		case *syntax.Parallel:
			refuse(n.Pos, "parallel")
		case *syntax.Until:
			refuse(n.Pos, "until")
		case *syntax.Group:
			refuse(n.Pos, "do")
		case *syntax.Publish:
			refuse(n.Pos, "publish")
		case *syntax.Tier:
			refuse(n.Pos, "tier")
		case *syntax.Around:
			refuse(n.Pos, "Between Steps")
		case *syntax.Defaults:
			refuse(n.Pos, "yaml defaults")
		case *syntax.Worktree:
			refuse(n.Pos, "worktree")
		case *syntax.GateTimeout:
			refuse(n.Pos, "timeout")
		case *syntax.Step:
			if n.Board != nil {
				refuse(n.Board.Pos, "board")
			}
			if n.In != nil {
				refuse(n.In.Pos, "in")
			}
			if n.Compensate != nil {
				refuse(n.Compensate.Pos, "compensate")
			}
		case *syntax.Delegate:
			if n.Pick != nil {
				refuse(n.Pos, "among")
			}
		case *syntax.Foreach:
			if n.Parallel > 1 {
				refuse(n.Pos, "max_parallel")
			}
		case *syntax.Target:
			switch {
			case n.Kind == syntax.ToRollback:
				refuse(n.Pos, "rollback")
			case n.Kind == syntax.ToAsk:
				refuse(n.Pos, "ask")
			case n.Kind == syntax.ToGoto:
				refuse(n.Pos, "goto")
			case n.Kind > syntax.ToGate || n.Gate != nil:
				refuse(n.Pos, "gate with a question of its own in a target")
			}
		}
		return true
	})
}
