package argspec

import "tercet/formats"

// Info is the argument for menus, forms and programs.
func (s *Spec) Info() formats.ArgumentInfo {
	info := formats.ArgumentInfo{
		Name:        s.Name,
		Type:        s.Type.String(),
		Description: s.Description,
		Required:    s.Required,
		Flag:        s.Flag,
		Short:       s.Short,
		Repeat:      s.Repeat,
		Default:     s.Default,
		Values:      s.Values,
		Minimum:     s.Min,
		Maximum:     s.Max,
		Complete:    s.Complete,
		Unless:      s.Unless,
	}
	if s.Type == Duration && s.Default != nil {
		info.Default = s.Text(s.Default)
	}
	if s.Pattern != nil {
		info.Pattern = s.Pattern.String()
	}
	return info
}

// Infos are the arguments of a command.
func Infos(specs []Spec) []formats.ArgumentInfo {
	out := make([]formats.ArgumentInfo, len(specs))
	for i := range specs {
		out[i] = specs[i].Info()
	}
	return out
}
