// Package config reads the layers of config.yaml into one Config.
//
// Promise: every key of every layer is read or reported with its place. Each value knows its layer.
// Limits of several layers only lower each other. A wrong value is a finding, and the value of the
// next layer stays.
//
// It will not look for files, read the environment, or act on a value.
//
// Concurrency: Load is pure; a Config must not be changed once it is shared.
package config
