package query

// The functions that a plain query may call, by their number of arguments: those of jq that depend on nothing but their input,
// and those of a workflow.

func plain0(name string) bool {
	switch name {
	case "abs", "add", "all", "any", "arrays", "ascii_downcase", "ascii_upcase", "booleans", "ceil", "empty", "error", "explode", "fabs",
		"first", "flatten", "floor", "from_entries", "fromjson", "implode", "isinfinite", "isnan", "iterables", "keys", "last", "length", "ltrim",
		"max", "min", "not", "nulls", "numbers", "objects", "paths", "reverse", "round", "rtrim", "scalars", "sort", "sqrt", "strings",
		"to_entries", "tojson", "tonumber", "tostring", "transpose", "trim", "type", "unique", "utf8bytelength", "values":
		return true
	}
	return false
}

func plain1(name string) bool {
	switch name {
	case "IN", "INDEX", "add", "all", "any", "bsearch", "contains", "del", "endswith", "error", "first", "flatten", "getpath", "group_by",
		"has", "index", "indices", "inside", "isempty", "join", "last", "ltrimstr", "map", "map_values", "max_by", "min_by", "nth", "paths",
		"pick", "range", "recurse", "rindex", "rtrimstr", "select", "sort_by", "split", "startswith", "test", "trimstr", "unique_by", "walk",
		"with_entries":
		return true
	}
	return false
}

func plain2(name string) bool {
	switch name {
	case "all", "any", "limit", "nth", "range", "setpath", "skip", "test":
		return true
	}
	return false
}

func plainWorkflow0(name string) bool {
	switch name {
	case "approved", "failed", "passed", "rejected":
		return true
	}
	return false
}

func plainWorkflow1(name string) bool {
	switch name {
	case "default", "quorum":
		return true
	}
	return false
}
