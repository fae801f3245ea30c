package main

func (a *app) explainCode(code string) error { return usage("no page %s", code) }
