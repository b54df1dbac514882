// node svelte.mjs MODULES FILE: prints a component of Svelte as JavaScript.
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';

const [modules, filename] = process.argv.slice(2);
const {compile} = createRequire(modules + '/')('svelte/compiler');
const made = compile(readFileSync(filename, 'utf8'), {filename, generate: 'client', dev: false});
process.stdout.write(made.js.code);
