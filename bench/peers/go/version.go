package main

import (
	"path"
	"runtime/debug"
)

// versionOf is the version of a module that was built into this program.
func versionOf(module string) string {
	build, ok := debug.ReadBuildInfo()
	if ok {
		for _, dependency := range build.Deps {
			if dependency.Path == module {
				return path.Base(module) + " " + dependency.Version
			}
		}
	}
	return path.Base(module) + " of an unknown version"
}
