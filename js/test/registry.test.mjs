import assert from 'node:assert/strict';
import test from 'node:test';
import { openPage } from '../testpage/page.mjs';

test('256 registrations in one run are one message', async () => {
  const page = openPage();
  const first = page.evaluate('watch', 0);
  page.run(`for (let i = 0; i < 256; i++) document.modelContext.registerTool({ name: 't' + i, description: 'd', execute() {} })`);
  const state = JSON.parse(await first);
  assert.equal(state.tools.length, 256);
  assert.equal(state.rev, 256);
});

test('a watch answers at once when the revision is newer, else when it changes; a later watch ends it', async () => {
  const page = openPage();
  assert.deepEqual(JSON.parse(await page.evaluate('watch', -1)), {
    rev: 0, doc: { url: 'https://page.test/path', title: 'A page', origin: 'https://page.test', lang: 'en' }, tools: [], refused: [], dropped: 0,
  });
  const old = page.evaluate('watch', 0);
  const current = page.evaluate('watch', 0);
  assert.equal(await old, '');
  page.run(`document.modelContext.registerTool({ name: 'a', description: 'd', execute() {} })`);
  assert.equal(JSON.parse(await current).tools[0].name, 'a');
});

test('every registration has a new id, and a call of an old one is gone', async () => {
  const page = openPage();
  page.run(`var d = { name: 'a', description: 'd', execute: () => 1 }; document.modelContext.registerTool(d)`);
  const before = (await page.state()).tools[0].id;
  page.run(`document.modelContext.unregisterTool('a'); document.modelContext.registerTool(d)`);
  const after = (await page.state()).tools[0].id;
  assert.notEqual(after, before);
  const reply = await page.evaluate('call', 'x', before, '{}', 1000, 1e9);
  assert.match(reply, /"k":"gone".*"ran":false/);
});

test('the first 256 tools are sent, the rest counted; what is too large is refused', async () => {
  const page = openPage();
  page.run(`
    const add = (name, more) => document.modelContext.registerTool({ name, description: 'd', execute() {}, ...more });
    add('long', { description: 'x'.repeat(16385) }); add('fits', { description: 'x'.repeat(16384) });
    add('schema', { inputSchema: { description: 'x'.repeat(65536) } }); add('output', { outputSchema: { description: 'x'.repeat(65536) } });
    add('title', { title: 'x'.repeat(1025) });
    for (let i = 0; i < 300; i++) add('t' + i);
    for (let i = 0; i < 100; i++) add('big' + i, { description: 'x'.repeat(20000) });
    pageTitle = 'y'.repeat(600);`);
  const state = await page.state();
  assert.equal(state.tools.length, 256);
  assert.equal(state.tools[0].name, 'fits');
  assert.equal(state.dropped, 45);
  assert.equal(state.refused.length, 64);
  assert.equal(state.doc.title.length, 512);
  assert.deepEqual(state.refused.slice(0, 4).map((r) => [r.name, r.rule]), [
    ['long', 'description-too-long'], ['schema', 'schema-too-large'], ['output', 'schema-too-large'], ['title', 'title-too-long'],
  ]);
});

test('the state of a page with huge schemas stays below its limit', async () => {
  const page = openPage();
  page.run(`for (let i = 0; i < 256; i++) document.modelContext.registerTool({ name: 't' + i, description: 'd', execute() {},
    inputSchema: { description: 'x'.repeat(65000) }, outputSchema: { description: 'x'.repeat(65000) } })`);
  const text = await page.evaluate('watch', -1, 2 ** 30);
  assert.ok(text.length < 8 * 1024 * 1024 + 4096);
  const state = JSON.parse(text);
  assert.equal(state.tools.length + state.dropped, 256);
  assert.equal(state.short, undefined);
});

test('a state has the first tools that there is room for, and counts the others', async () => {
  const page = openPage();
  page.run(`for (const [name, n] of [['a', 1000], ['b', 9000], ['c', 10]]) document.modelContext.registerTool({ name, description: 'x'.repeat(n), execute() {} })`);
  const states = await Promise.all([0, 5000, 20000].map(async (room) => JSON.parse(await page.evaluate('watch', -1, room))));
  assert.deepEqual(states.map((s) => [s.tools.map((t) => t.name).join(''), s.short ?? 0]), [['', 3], ['a', 2], ['abc', 0]]);
});

test('toolchange comes once for each run, on the object, on window.agent and on window, before the promises', async () => {
  const page = openPage();
  page.run(`var log = [];
    document.modelContext.ontoolchange = (e) => log.push('handler ' + e.type);
    document.modelContext.addEventListener('toolchange', (e) => log.push('context ' + (e.target === navigator.modelContext)));
    agent.addEventListener('toolchange', () => log.push('agent'));
    window.addEventListener('toolchange', () => log.push('window'));
    for (const name of ['a', 'b']) document.modelContext.registerTool({ name, description: 'd', execute() {} }).then((v) => log.push(name + v));`);
  await page.run('new Promise((r) => setTimeout(r))');
  assert.equal(page.run('log.join()'), 'handler toolchange,context true,agent,window,aundefined,bundefined');
  page.run(`log = []; document.modelContext.ontoolchange = null; document.modelContext.clearContext()`);
  await page.run('new Promise((r) => setTimeout(r))');
  assert.equal(page.run('log.join()'), 'context true,agent,window');
});

test('a signal unregisters, rejects a promise that is pending, and never touches a later registration', async () => {
  const page = openPage();
  const tool = `{ name: 'a', description: 'd', execute() {} }`;
  page.run(`var c = new AbortController(); var p = document.modelContext.registerTool(${tool}, { signal: c.signal }).then(() => 'in', (e) => e);
    c.abort('why');`);
  assert.equal(await page.run('p'), 'why');
  assert.equal((await page.state()).tools.length, 0);
  page.run(`c = new AbortController(); document.modelContext.registerTool(${tool}, { signal: c.signal }).catch(() => {});
    document.modelContext.unregisterTool('a'); document.modelContext.registerTool(${tool}); c.abort();`);
  assert.equal((await page.state()).tools.length, 1);
});

test('a document that replaces another one in the same window starts empty', async () => {
  const page = openPage();
  page.run(`document.modelContext.registerTool({ name: 'early', description: 'd', execute() {} })`);
  const { rev, tools } = await page.state();
  const next = page.evaluate('watch', rev);
  page.run(`document = new Document(); document.modelContext.registerTool({ name: 'late', description: 'd', execute() {} })`);
  assert.deepEqual(JSON.parse(await next).tools.map((t) => t.name), ['late']);
  assert.match(await page.evaluate('call', 'x', tools[0].id, '{}', 10, 1e9), /"k":"gone"/);
});

test('the ids of two documents differ', async () => {
  const ids = new Set();
  for (let i = 0; i < 8; i++) {
    const page = openPage({ random: true });
    page.run(`navigator.modelContext.registerTool({name: 'a', description: 'd', execute() {}})`);
    ids.add((await page.state()).tools[0].id);
  }
  assert.equal(ids.size, 8);
});
