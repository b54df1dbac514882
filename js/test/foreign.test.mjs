import assert from 'node:assert/strict';
import test from 'node:test';
import { openPage } from '../testpage/page.mjs';

// Libraries of pages, in the shapes that are in use. Each makes a variable `lib` with its own list of tools.
const libraries = {
  'a plain object': `var held = {}; var lib = {
    registerTool(tool) { held[tool.name] = tool }, unregisterTool(name) { delete held[name] },
    provideContext({ tools = [] } = {}) { held = {}; for (const t of tools) held[t.name] = t }, clearContext() { held = {} } };`,
  'a class with private members': `var lib = new (class Polyfill extends EventTarget { #held = new Map();
    async registerTool(tool) { this.#held.set(tool.name, tool) } unregisterTool(name) { this.#held.delete(name.name ?? name) }
    provideContext(context) { this.#held = new Map((context?.tools ?? []).map((t) => [t.name, t])) } clearContext() { this.#held.clear() } })();`,
  'a class that provides tool by tool': `var lib = new (class Polyfill { #held = new Map();
    registerTool(tool) { this.#held.set(tool.name, tool) } unregisterTool(name) { this.#held.delete(name) }
    provideContext({ tools }) { this.#held.clear(); for (const t of tools) this.registerTool(t) } clearContext() { for (const name of this.#held.keys()) this.unregisterTool(name) } })();`,
  'a frozen object': `var held = {}; var lib = Object.freeze({
    registerTool: (tool) => { held[tool.name] = tool }, unregisterTool: (name) => { delete held[name] },
    provideContext: ({ tools }) => { held = {}; for (const t of tools) held[t.name] = t }, clearContext: () => { held = {} } });`,
  'a wrapper that passes everything on': `var native = document.modelContext; var lib = {
    registerTool: (tool, options) => native.registerTool({ ...tool, execute: (input, c) => tool.execute(input, c) }, options), unregisterTool: (name) => native.unregisterTool(name),
    provideContext: (context) => native.provideContext(context), clearContext: () => native.clearContext() };`,
  'a wrapper that renames, and is late to unregister': `var native = navigator.modelContext; var lib = {
    registerTool(tool) { const p = native.registerTool(tool); return { unregister() { native.unregisterTool(tool.name) } } },
    unregisterTool(name) { Promise.resolve().then(() => native.unregisterTool(name)) },
    provideContext(context) { native.provideContext(context) }, clearContext() { native.clearContext() } };`,
  'a proxy': `var lib = new Proxy(navigator.modelContext, { get: (t, k) => (typeof t[k] === 'function' ? t[k].bind(t) : t[k]) });`,
};

// How they are installed.
const ways = {
  'assignment to navigator': `navigator.modelContext = lib;`,
  'assignment to navigator, strict': `(() => { 'use strict'; navigator.modelContext = lib; })();`,
  'assignment to document': `document.modelContext = lib;`,
  'assignment to document, strict': `(() => { 'use strict'; document.modelContext = lib; })();`,
  'Object.assign': `Object.assign(navigator, { modelContext: lib });`,
  'definition on navigator': `Object.defineProperty(navigator, 'modelContext', { value: lib, configurable: true, enumerable: true, writable: false });`,
  'definition on document and navigator': `for (const o of [document, navigator]) Object.defineProperty(o, 'modelContext', { value: lib, configurable: true, writable: true });`,
  'definition of a getter on navigator': `Object.defineProperty(navigator, 'modelContext', { get: () => lib, configurable: true });`,
  'definition on Navigator.prototype': `Object.defineProperty(Navigator.prototype, 'modelContext', { get() { return lib }, configurable: true });`,
  'definition on Document.prototype, by Reflect': `Reflect.defineProperty(Document.prototype, 'modelContext', { get() { return lib }, configurable: true });`,
  'defineProperties': `Object.defineProperties(navigator, { modelContext: { value: lib, configurable: true } });`,
  '__defineGetter__': `navigator.__defineGetter__('modelContext', () => lib);`,
  'removal, then definition': `Object.defineProperty(navigator, 'modelContext', { value: undefined, configurable: true }); Object.defineProperty(navigator, 'modelContext', { value: lib, configurable: true });`,
};

const tool = (name, value = `'${name}'`) => `{ name: '${name}', description: 'd', inputSchema: { type: 'object' }, execute(input) { return [${value}, input.q, typeof this] } }`;

test('whatever a library is and however it is installed, its tools are there once', async () => {
  for (const [what, library] of Object.entries(libraries)) {
    for (const [how, way] of Object.entries(ways)) {
      const page = openPage();
      const where = `${what}, by ${how}`;
      const names = async () => (await page.state()).tools.map((t) => t.name).sort().join();
      page.run(`${library} var ours = document.modelContext; ${way} var seen = navigator.modelContext === ours ? document.modelContext : navigator.modelContext;`);
      if (!/frozen/.test(what)) assert.equal(page.run('seen === lib'), true, where);
      page.run(`seen.registerTool(${tool('one')}); seen.registerTool(${tool('two')});`);
      assert.equal(await names(), 'one,two', where);
      const reply = await page.call('one', { q: 7 });
      assert.deepEqual(reply.payload.slice(0, 2), ['one', 7], where);
      page.run(`seen.unregisterTool('one')`);
      await page.run('new Promise((r) => setTimeout(r))');
      assert.equal(await names(), 'two', where);
      page.run(`seen.provideContext({ tools: [${tool('three')}, ${tool('four')}] })`);
      assert.equal(await names(), 'four,three', where);
      assert.deepEqual((await page.call('four', { q: 1 })).payload.slice(0, 2), ['four', 1], where);
      page.run('seen.clearContext()');
      assert.equal(await names(), '', where);
    }
  }
});

test('the positive control: a library that nobody installed stays alone', async () => {
  const page = openPage();
  page.run(`${libraries['a plain object']} lib.registerTool(${tool('one')})`);
  assert.equal((await page.state()).tools.length, 0);
});

test('what was registered before the library was installed is there, too', async () => {
  for (const list of ['tools: [one]', 'listTools: () => [one]', 'getTools: async () => [one]', 'listTools: () => ({ tools: [one] })']) {
    const page = openPage();
    page.run(`var one = ${tool('one')}; navigator.modelContext = { registerTool() {}, ${list} }`);
    await page.run('new Promise((r) => setTimeout(r))');
    assert.deepEqual((await page.call('one', { q: 2 })).payload, ['one', 2, 'object'], list);
  }
  const page = openPage();
  page.run(`navigator.modelContext = { listTools: () => [{ name: 'far', description: 'd' }], callTool: async (call) => ({ content: [], call }) }`);
  assert.deepEqual((await page.call('far', { q: 3 })).payload, { content: [], call: { name: 'far', arguments: { q: 3 } } });
});

test('a mirrored tool gives way to the one that a slow wrapper passes on, and goes with its signal or its handle', async () => {
  const page = openPage();
  const names = async () => (await page.state()).tools.map((t) => t.name).join();
  page.run(`var native = document.modelContext; navigator.modelContext = { async registerTool(tool) { await 0; await native.registerTool({ ...tool, description: 'passed on' }) } };
    var p = navigator.modelContext.registerTool(${tool('slow')})`);
  await page.run('p');
  assert.deepEqual((await page.state()).tools.map((t) => [t.name, t.description]), [['slow', 'passed on']]);
  page.run(`native.clearContext(); var released = 0, c = new AbortController();
    document.modelContext = { registerTool: (tool, { how } = {}) => how === 'function' ? () => released++ : how === 'method' ? { unregister: () => released++ } : how === 'failed' ? Promise.reject(1) : undefined };
    document.modelContext.registerTool(${tool('signal')}, { signal: c.signal }); c.abort();
    document.modelContext.registerTool(${tool('function')}, { how: 'function' })();
    document.modelContext.registerTool(${tool('method')}, { how: 'method' }).unregister();
    document.modelContext.registerTool(${tool('failed')}, { how: 'failed' }).catch(() => {});
    document.modelContext.registerTool(${tool('stays')});`);
  await page.run('new Promise((r) => setTimeout(r))');
  assert.equal(await names(), 'stays');
  assert.equal(page.run('released'), 2);
});

test('what we would refuse, and what is not a context, leaves the page as it is', async () => {
  const page = openPage();
  page.run(`var held = []; navigator.modelContext = { registerTool(t) { held.push(t); return 'own result' } };
    var results = [navigator.modelContext.registerTool({ name: 'no good', description: 'd', execute() {} }), navigator.modelContext.registerTool(), navigator.modelContext.registerTool({ name: 'x' })];
    document.modelContext.registerTool(${tool('direct')}); navigator.modelContext.registerTool(${tool('direct', '2')});
    navigator.modelContext.registerTool({ name: 'handled', description: 'd', handler: () => 'by its handler' })`);
  assert.deepEqual([...page.run('results')], ['own result', 'own result', 'own result']);
  assert.equal(page.run('held.length'), 5);
  assert.deepEqual((await page.state()).tools.map((t) => t.name), ['direct', 'handled']);
  assert.equal((await page.call('direct')).payload[0], 'direct');
  assert.equal((await page.call('handled')).payload, 'by its handler');
  for (const odd of ['null', '7', 'Object.create(null)', 'new Proxy({}, { get() { throw 1 } })', 'class ModelContext {}']) {
    const other = openPage();
    other.run(`navigator.modelContext = ${odd}; Object.defineProperty(document, 'modelContext', { get() { throw 1 }, configurable: true })`);
    assert.equal((await other.state()).tools.length, 0, odd);
  }
  assert.equal(openPage().run(`try { Object.defineProperty(1, 'a', {}) } catch (e) { e.name + Object.defineProperty.name + Object.defineProperty.length + /native code/.test(Object.defineProperty) }`), 'TypeErrordefineProperty3true');
});
