#!/usr/bin/env node
// Starts the binary for this machine out of bin/, with the arguments, streams, signals and exit code of this process.
"use strict";
const {spawn} = require("child_process");
const path = require("path");
const arch = {x64: "amd64", arm64: "arm64"}[process.arch];
// Before the start: a signal that comes early is passed on as well. A terminal sends Ctrl-C to both; passed on it would count twice.
process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
const child = spawn(path.join(__dirname, "bin", `${process.platform}_${arch}`), process.argv.slice(2), {stdio: "inherit"});
child.on("error", (e) => {
  console.error(`tercet: no binary for ${process.platform} on ${process.arch}: ${e.message}`);
  process.exit(69);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  for (const s of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeAllListeners(s);
  process.kill(process.pid, signal);
});
