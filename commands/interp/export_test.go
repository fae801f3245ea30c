package interp

// ReviewsIn is reviewsIn as text.
func ReviewsIn(title string, v any) (out []string) {
	for _, r := range reviewsIn(title, v) {
		out = append(out, r.String())
	}
	return out
}
