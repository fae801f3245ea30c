package dialect

import "io/fs"

// devcontainers are where a project says in which container it is developed.
var devcontainers = []string{".devcontainer/devcontainer.json", ".devcontainer.json"}

// Devcontainer gives what a project's development container names as its image, as it stands there,
// and the file. Both are empty where no file does, as one that builds an image. The file may have
// comments; nothing else of it is read.
func Devcontainer(tree fs.FS) (image, file string) {
	for _, name := range devcontainers {
		var container struct {
			Image string `json:"image"`
		}
		if readJSON(tree, name, &container) && container.Image != "" {
			return container.Image, name
		}
	}
	return "", ""
}
