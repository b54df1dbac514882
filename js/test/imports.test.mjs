import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';

const root = new URL('../src/shim/', import.meta.url);

/** The modules of the shim and what each imports, by path below src/shim. */
function modules() {
  const all = new Map();
  for (const name of readdirSync(root, { recursive: true })) {
    if (!name.endsWith('.js')) continue;
    const here = new URL(name, root);
    const found = readFileSync(here, 'utf8').matchAll(/^(?:import|\}) .*from '(\.[^']+)';$/gm);
    all.set(name, [...found].map(([, path]) => new URL(path, here).pathname.slice(root.pathname.length)));
  }
  return all;
}

/** circle returns the first path that leads back to where it began, '' when there is none. */
function circle(imports) {
  const done = new Set();
  const visit = (name, path) => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name].join(' -> ');
    if (done.has(name)) return '';
    for (const next of imports.get(name)) {
      const found = visit(next, [...path, name]);
      if (found !== '') return found;
    }
    done.add(name);
    return '';
  };
  for (const name of imports.keys()) {
    const found = visit(name, []);
    if (found !== '') return found;
  }
  return '';
}

test('modules of the shim do not import each other in a circle', () => {
  const imports = modules();
  assert.ok(imports.size > 25 && imports.get('calls.js').includes('natives.js'));
  assert.equal(circle(imports), '');
  imports.get('natives.js').push('calls.js'); // the control
  assert.match(circle(imports), /natives\.js/);
});
