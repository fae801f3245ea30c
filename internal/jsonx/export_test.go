package jsonx

// The edits of one member or element, of which the tests are made.

// SetMember gives the edit that sets one key of an object: in its place if the object has the key,
// else as the last one. The layout of the object is kept: the new member is separated as its
// siblings are, and a raw of several lines is indented to its surroundings, or put on one line
// where the object stands on one. raw must be valid JSON.
func SetMember(src []byte, obj *Value, key string, raw []byte) Edit {
	return first(EditMembers(src, obj, []Change{{Key: key, Raw: raw}}))
}

// RemoveMember gives the edit that removes a key with one of its commas. Without such a key it
// changes nothing.
func RemoveMember(src []byte, obj *Value, key string) Edit {
	return first(EditMembers(src, obj, []Change{{Key: key}}))
}

// RemoveElem gives the edit that removes the element at index i. Without such an element it changes
// nothing.
func RemoveElem(src []byte, arr *Value, i int) Edit {
	return first(EditElems(src, arr, ElemChanges{Remove: []int{i}}))
}

// AppendElem gives the edit that adds a last element to an array, in the layout of its siblings.
func AppendElem(src []byte, arr *Value, raw []byte) Edit {
	return first(EditElems(src, arr, ElemChanges{Append: [][]byte{raw}}))
}

func first(edits []Edit) Edit {
	if len(edits) == 0 {
		return Edit{}
	}
	return edits[0]
}
