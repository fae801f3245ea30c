// Package markup makes the HTML of the pages by maragu.dev/gomponents, which escapes what it
// writes.
//
// Its functions are not called directly because each call would be compiled as a copy of the body:
// the pages have some 1,200 calls, and the copies took 0.95 MB of the program.
package markup

import g "maragu.dev/gomponents"

// Node is an element, an attribute, or a text.
type Node = g.Node

// Group is a list of nodes, and a node itself.
type Group = g.Group

// Text is a text, escaped.
//
//go:noinline
func Text(s string) Node { return g.Text(s) }

// Attr is an attribute, by name and value, or by its name alone.
//
//go:noinline
func Attr(name string, value ...string) Node { return g.Attr(name, value...) }

// Element is an element by its name, for instance "div".
//
//go:noinline
func Element(name string, children ...Node) Node { return g.El(name, children...) }

// If is the node if the condition holds, and nothing otherwise.
func If(condition bool, n Node) Node { return g.If(condition, n) }

// Iff is as If. The node is only made if the condition holds.
func Iff(condition bool, f func() Node) Node { return g.Iff(condition, f) }

// Map makes a node of each value.
func Map[T any](values []T, f func(T) Node) Group { return g.Map(values, f) }

// Doctype is the head of a document before its element html.
func Doctype(root Node) Node { return Group{g.Raw("<!doctype html>"), root} }

// Aria is an attribute of accessibility, for instance "current".
func Aria(name, value string) Node { return Attr("aria-"+name, value) }

// Data is an attribute for the script of the page.
func Data(name, value string) Node { return Attr("data-"+name, value) }

// Elements.
func A(children ...Node) Node        { return Element("a", children...) }
func Article(children ...Node) Node  { return Element("article", children...) }
func Body(children ...Node) Node     { return Element("body", children...) }
func Button(children ...Node) Node   { return Element("button", children...) }
func Code(children ...Node) Node     { return Element("code", children...) }
func DataList(children ...Node) Node { return Element("datalist", children...) }
func Dd(children ...Node) Node       { return Element("dd", children...) }
func Details(children ...Node) Node  { return Element("details", children...) }
func Dialog(children ...Node) Node   { return Element("dialog", children...) }
func Div(children ...Node) Node      { return Element("div", children...) }
func Dl(children ...Node) Node       { return Element("dl", children...) }
func Dt(children ...Node) Node       { return Element("dt", children...) }
func Form(children ...Node) Node     { return Element("form", children...) }
func H1(children ...Node) Node       { return Element("h1", children...) }
func H2(children ...Node) Node       { return Element("h2", children...) }
func H3(children ...Node) Node       { return Element("h3", children...) }
func H4(children ...Node) Node       { return Element("h4", children...) }
func HTML(children ...Node) Node     { return Element("html", children...) }
func Head(children ...Node) Node     { return Element("head", children...) }
func Header(children ...Node) Node   { return Element("header", children...) }
func Input(children ...Node) Node    { return Element("input", children...) }
func Kbd(children ...Node) Node      { return Element("kbd", children...) }
func Label(children ...Node) Node    { return Element("label", children...) }
func Li(children ...Node) Node       { return Element("li", children...) }
func Link(children ...Node) Node     { return Element("link", children...) }
func Main(children ...Node) Node     { return Element("main", children...) }
func Meta(children ...Node) Node     { return Element("meta", children...) }
func Nav(children ...Node) Node      { return Element("nav", children...) }
func Ol(children ...Node) Node       { return Element("ol", children...) }
func Option(children ...Node) Node   { return Element("option", children...) }
func P(children ...Node) Node        { return Element("p", children...) }
func Pre(children ...Node) Node      { return Element("pre", children...) }
func Script(children ...Node) Node   { return Element("script", children...) }
func Section(children ...Node) Node  { return Element("section", children...) }
func Select(children ...Node) Node   { return Element("select", children...) }
func Small(children ...Node) Node    { return Element("small", children...) }
func Span(children ...Node) Node     { return Element("span", children...) }
func Strong(children ...Node) Node   { return Element("strong", children...) }
func Summary(children ...Node) Node  { return Element("summary", children...) }
func TBody(children ...Node) Node    { return Element("tbody", children...) }
func THead(children ...Node) Node    { return Element("thead", children...) }
func Table(children ...Node) Node    { return Element("table", children...) }
func Td(children ...Node) Node       { return Element("td", children...) }
func Textarea(children ...Node) Node { return Element("textarea", children...) }
func Th(children ...Node) Node       { return Element("th", children...) }
func Time(children ...Node) Node     { return Element("time", children...) }
func TitleEl(children ...Node) Node  { return Element("title", children...) }
func Tr(children ...Node) Node       { return Element("tr", children...) }
func Ul(children ...Node) Node       { return Element("ul", children...) }

// Attributes with a value.
func Action(value string) Node       { return Attr("action", value) }
func AutoComplete(value string) Node { return Attr("autocomplete", value) }
func Charset(value string) Node      { return Attr("charset", value) }
func Class(value string) Node        { return Attr("class", value) }
func Content(value string) Node      { return Attr("content", value) }
func DateTime(value string) Node     { return Attr("datetime", value) }
func For(value string) Node          { return Attr("for", value) }
func Href(value string) Node         { return Attr("href", value) }
func ID(value string) Node           { return Attr("id", value) }
func Lang(value string) Node         { return Attr("lang", value) }
func List(value string) Node         { return Attr("list", value) }
func Method(value string) Node       { return Attr("method", value) }
func Name(value string) Node         { return Attr("name", value) }
func Placeholder(value string) Node  { return Attr("placeholder", value) }
func Rel(value string) Node          { return Attr("rel", value) }
func Role(value string) Node         { return Attr("role", value) }
func Rows(value string) Node         { return Attr("rows", value) }
func Src(value string) Node          { return Attr("src", value) }
func TabIndex(value string) Node     { return Attr("tabindex", value) }
func TitleAttr(value string) Node    { return Attr("title", value) }
func Type(value string) Node         { return Attr("type", value) }
func Value(value string) Node        { return Attr("value", value) }

// Attributes without one.
func Defer() Node    { return Attr("defer") }
func Selected() Node { return Attr("selected") }
