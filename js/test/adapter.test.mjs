import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { name, openPage } from '../testpage/page.mjs';

const bundle = readFileSync(new URL('../dist/adapter.js', import.meta.url), 'utf8');
const config = { index: 1, name: 'shop', origins: ['https://site.test'], match: ['^https://site\\.test/'], frames: false, at: 'start', quiet: false };

/** A page that runs an adapter. */
function adapted(body, change = {}, before = '') {
  const page = openPage();
  const { origin, url } = page.run('({ origin: window.origin, url: document.URL })');
  page.run(before);
  page.run('{ const native = setTimeout; setTimeout = (f, ms) => native(f, ms).unref(); }'); // nobody waits for the end of its patience
  page.run(`'use strict';${name}.host.adapt=${bundle}(${name}.host);`);
  const text = JSON.stringify({ ...config, origins: [origin], match: [`^${origin}/`], ...change });
  page.run(`'use strict';${name}.host.adapt(${JSON.stringify(text)},async function(modelContext){${body}\n});\n//# sourceURL=adapter:shop.js\n`);
  return { ...page, url };
}

const marks = async (page) => (await page.state()).tools.map((tool) => [tool.name, tool.adapter]);

test('an adapter registers through its own object, and in its first part, with its mark', async () => {
  const page = adapted(`modelContext.registerTool({ name: 'a', description: 'd', execute: () => 1 });
    document.modelContext.registerTool({ name: 'b', description: 'd', execute: () => 2 });
    await null;
    document.modelContext.registerTool({ name: 'c', description: 'd', execute: () => 3 });
    modelContext.registerTool({ name: 'e', description: 'd', execute: () => 4 });`);
  await page.state();
  assert.deepEqual(await marks(page), [['c', undefined], ['a', 1], ['b', 1], ['e', 1]]);
});

test('what the page registers takes the name, and gives it back', async () => {
  const page = adapted(`modelContext.registerTool({ name: 'a', description: 'd', execute: () => 'adapter' });`);
  assert.equal((await page.call('a')).payload, 'adapter');
  page.run(`document.modelContext.registerTool({ name: 'a', description: 'd', execute: () => 'page' })`);
  assert.equal((await page.call('a')).payload, 'page');
  page.run(`agent.provideContext({ tools: [] })`);
  assert.equal((await page.call('a')).payload, 'adapter');
  const [shadowed] = (await page.state()).problems;
  assert.deepEqual([shadowed.kind, shadowed.name, shadowed.adapter], ['adapter', 'a', 1]);
});

test('an adapter takes back its own tools, and none of the page', async () => {
  const page = adapted(`modelContext.provideContext({ tools: [{ name: 'a', description: 'd', execute: () => 1 }] });
    modelContext.provideContext({ tools: [{ name: 'b', description: 'd', execute: () => 1 }] });
    modelContext.unregisterTool('own');`, {}, `document.modelContext.registerTool({ name: 'own', description: 'd', execute: () => 0 })`);
  assert.deepEqual(await marks(page), [['own', undefined], ['b', 1]]);
});

test('an adapter runs only where it is meant to', async () => {
  const body = `modelContext.registerTool({ name: 'a', description: 'd', execute: () => 1 });`;
  assert.deepEqual(await marks(adapted(body)), [['a', 1]]);
  assert.deepEqual(await marks(adapted(body, { origins: ['https://other.test'] })), []);
  assert.deepEqual(await marks(adapted(body, { match: ['^https://other\\.test/'] })), []);
});

test('nothing that an adapter or the page can reach holds the name of the page script', async () => {
  const page = adapted(`Error.prepareStackTrace = (_, sites) => sites.map((s) => String(s.getFunction()) + String(s.getThis()) + s).join();
    globalThis.found = new Error('x').stack + modelContext.registerTool;
    Error.prepareStackTrace = undefined;
    found += new Error('y').stack;`);
  await page.state();
  assert.match(page.run('found'), /adapter:shop\.js/);
  assert.ok(!page.run('found').includes(name), page.run('found'));
});
