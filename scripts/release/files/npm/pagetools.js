#!/usr/bin/env node
'use strict';
// Becomes the pagetools of this system, or starts it. It prints nothing to stdout: that is MCP's.
const { accessSync, constants } = require('fs');
const { spawn } = require('child_process');
const systems = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64', 'win32-arm64'];

function fail(text) {
  process.stderr.write(`pagetools: ${text}\n`);
  process.exit(1);
}

function find() {
  const system = `${process.platform}-${process.arch}`;
  if (!systems.includes(system)) fail(`there is no pagetools for ${system}; there is one for ${systems.join(', ')}`);
  const name = `@pagetools/${system}`;
  try {
    return require.resolve(`${name}/bin/pagetools${process.platform === 'win32' ? '.exe' : ''}`);
  } catch {
    return fail(`the package ${name} is missing: install without --omit=optional`);
  }
}

const binary = process.env.PAGETOOLS_BINARY || find();
const args = process.argv.slice(2);
try {
  accessSync(binary, constants.X_OK);
} catch (error) {
  fail(`${binary} cannot be started: ${error.code}`);
}
if (process.execve && process.platform !== 'win32') process.execve(binary, [binary, ...args], process.env);
const child = spawn(binary, args, { stdio: 'inherit' });
child.on('error', (error) => fail(`${binary} cannot be started: ${error.message}`));
// A terminal sends its Ctrl-C to both: a second one would end the program without cleaning up.
const atTerminal = [0, 1, 2].some((fd) => require('tty').isatty(fd));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => (signal === 'SIGINT' && atTerminal) || child.kill(signal));
child.on('exit', (code, signal) => process.exit(signal ? 128 + require('os').constants.signals[signal] : code));
