import assert from 'node:assert/strict';
import test from 'node:test';
import { openPage } from '../testpage/page.mjs';

const on = (method) => `Failed to execute '${method}' on 'ModelContext': `;
const member = (name) => `${on('registerTool')}Failed to read the '${name}' property from 'ModelContextTool': `;
const option = (name) => `${on('registerTool')}Failed to read the '${name}' property from 'ModelContextRegisterToolOptions': `;
const ok = `name: 'a', description: 'd', execute() {}`;

// Arguments of registerTool; the error's name; its message, as Chromium 156 has it.
const faults = [
  [``, 'TypeError', `${on('registerTool')}1 argument required, but only 0 present.`],
  [`null`, 'TypeError', `${on('registerTool')}The provided value is not of type 'ModelContextTool'.`],
  [`{}`, 'TypeError', `${member('description')}Required member is undefined.`],
  [`{ description: 'd', execute() {} }`, 'TypeError', `${member('name')}Required member is undefined.`],
  [`{ name: 'a', description: 'd' }`, 'TypeError', `${member('execute')}Required member is undefined.`],
  [`{ name: 'a', description: 'd', execute: 3 }`, 'TypeError', `${member('execute')}The given value is not a function.`],
  [`{ ${ok}, inputSchema: null }`, 'TypeError', `${member('inputSchema')}Failed to convert value to 'object'.`],
  [`{ ${ok}, inputSchema: 'x' }`, 'TypeError', `${member('inputSchema')}Failed to convert value to 'object'.`],
  [`{ ${ok}, annotations: 3 }`, 'TypeError', `${member('annotations')}The provided value is not of type 'ToolAnnotations'.`],
  [`{ ${ok}, name: Symbol('q') }`, 'TypeError', `${member('name')}Cannot convert a Symbol value to a string`],
  [`{ ${ok} }, 3`, 'TypeError', `${on('registerTool')}The provided value is not of type 'ModelContextRegisterToolOptions'.`],
  [`{ ${ok} }, { exposedTo: 'x' }`, 'TypeError', `${option('exposedTo')}The provided value cannot be converted to a sequence.`],
  [`{ ${ok} }, { exposedTo: {} }`, 'TypeError', `${option('exposedTo')}The object must have a callable @@iterator property.`],
  [`{ ${ok} }, { signal: {} }`, 'TypeError', `${option('signal')}Failed to convert value to 'AbortSignal'.`],
  [`{ name: 'taken', description: '', execute() {} }`, 'InvalidStateError', 'Duplicate tool name'],
  [`{ ${ok}, name: '' }`, 'InvalidStateError', 'Invalid tool name'],
  [`{ ${ok}, name: 'x'.repeat(129) }`, 'InvalidStateError', 'Invalid tool name'],
  [`{ ${ok}, name: 'a b', description: '' }`, 'InvalidStateError', 'Invalid tool name'],
  [`{ ${ok}, name: '\\u65e5' }`, 'InvalidStateError', 'Invalid tool name'],
  [`{ ${ok}, name: 'a\\r\\n' }`, 'InvalidStateError', 'Invalid tool name'],
  [`{ ${ok}, name: '../x' }`, 'InvalidStateError', 'Invalid tool name'],
  [`{ ${ok}, description: '', inputSchema: cycle }`, 'InvalidStateError', 'Description is required'],
  [`{ ${ok}, inputSchema: cycle }`, 'TypeError', `${on('registerTool')}invalid input schema: schema.self: circular reference`],
  [`{ ${ok}, inputSchema: { toJSON() {} } }`, 'TypeError', `${on('registerTool')}invalid input schema: toJSON() returns undefined`],
  [`{ ${ok}, inputSchema: { toJSON() { throw new RangeError('mine') } } }`, 'RangeError', 'mine'],
  [`{ ${ok} }, { signal: AbortSignal.abort(new RangeError('why')), exposedTo: ['*'] }`, 'RangeError', 'why'],
  [`{ ${ok} }, { exposedTo: ['*'] }`, 'SecurityError', 'Only secure origins are allowed in the exposedTo list.'],
  [`{ ${ok} }, { exposedTo: ['https://a.test', 'http://a.test'] }`, 'SecurityError', 'Only secure origins are allowed in the exposedTo list.'],
];

test('registerTool rejects with the errors of the specification and changes nothing', async () => {
  for (const [args, name, message] of faults) {
    const page = openPage();
    page.run(`var cycle = {}; cycle.self = cycle; document.modelContext.registerTool({ name: 'taken', description: 'd', execute() {} })`);
    const got = await page.run(`document.modelContext.registerTool(${args}).then(() => 'registered', (e) => e.name + ': ' + e.message)`);
    assert.equal(got, `${name}: ${message}`, `registerTool(${args})`);
    assert.equal((await page.state()).tools.length, 1);
  }
});

test('a document that is not active registers nothing', async () => {
  const page = openPage();
  const got = await page.run(`detached = true; document.modelContext.registerTool({ ${ok} }).catch((e) => e.name + ': ' + e.message)`);
  assert.equal(got, 'InvalidStateError: The document is not active.');
});

test('legal names, and origins that a tool may be exposed to', async () => {
  const page = openPage();
  const names = ['__proto__', 'constructor', 'toString', 'a.b-c_D9', 'mcp.x', 'x'.repeat(128)];
  for (const name of names) page.run(`document.modelContext.registerTool({ name: '${name}', description: 'd', execute: () => '${name.length}' })`);
  page.run('var i = 0');
  for (const origin of ['https://a.test', 'http://localhost:3', 'http://x.localhost', 'http://127.0.0.1', 'http://[::1]:8']) {
    page.run(`document.modelContext.registerTool({ name: 'o' + i++, description: 'd', execute() {} }, { exposedTo: new Set(['${origin}']) })`);
  }
  assert.deepEqual((await page.state()).tools.slice(0, 6).map((t) => t.name), names);
  assert.equal((await page.state()).tools.length, 11);
  for (const name of names) assert.equal((await page.call(name)).payload, `${name.length}`);
});

test('title, output schema and all annotations are kept', async () => {
  const page = openPage();
  page.run(`document.modelContext.registerTool({ ${ok}, title: 'T', inputSchema: { type: 'object', f() {} }, outputSchema: { type: 'string' },
    annotations: { readOnlyHint: 1, destructiveHint: false, idempotentHint: true, openWorldHint: '', untrustedContentHint: true,
      consequentialHint: true, debugging: false, title: 'AT', other: 1 } })`);
  const [tool] = (await page.state()).tools;
  assert.deepEqual(tool, {
    id: 1, name: 'a', via: 'registerTool', description: 'd', title: 'T', inputSchema: '{"type":"object"}', outputSchema: '{"type":"string"}',
    annotations: {
      readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false, untrustedContentHint: true,
      consequentialHint: true, debugging: false, title: 'AT',
    },
  });
});

test('provideContext replaces all, or nothing', async () => {
  const page = openPage();
  const names = async () => (await page.state()).tools.map((t) => `${t.name} ${t.via}`).join();
  page.run(`document.modelContext.registerTool({ ${ok} }); agent.provideContext({ tools: [{ name: 'b', description: 'd' }, { name: 'c', description: 'd', execute() {} }] })`);
  assert.equal(await names(), 'b provideContext,c provideContext');
  const twice = `{ name: 'x', description: 'd' }`;
  for (const [tools, error] of [[`[${twice}, ${twice}]`, 'InvalidStateError: Duplicate tool name'], [`[${twice}, { name: 'y', description: '' }]`, 'InvalidStateError: Description is required'],
    [`[${twice}, { name: 'y', description: 'd', execute: 1 }]`, /^TypeError: .*not a function/], [`3`, /^TypeError: .*converted to a sequence/]]) {
    const got = page.run(`try { navigator.modelContext.provideContext({ tools: ${tools} }); 'no error' } catch (e) { e.name + ': ' + e.message }`);
    typeof error === 'string' ? assert.equal(got, error) : assert.match(got, error);
    assert.equal(await names(), 'b provideContext,c provideContext');
  }
  for (const clear of ['provideContext()', 'provideContext({})', 'clearContext()']) {
    page.run(`navigator.modelContext.provideContext({ tools: [${twice}] }); navigator.modelContext.${clear}`);
    assert.equal(await names(), '');
  }
  page.run(`var t = { ${ok} }; document.modelContext.registerTool(t); document.modelContext.unregisterTool(t); document.modelContext.unregisterTool('nobody')`);
  assert.equal(await names(), '');
});

test('the shape of the interface', () => {
  const page = openPage();
  page.run(`var d = (o, k) => Object.getOwnPropertyDescriptor(o, k), m = document.modelContext`);
  const facts = {
    [`m === navigator.modelContext && m instanceof ModelContext && m instanceof EventTarget`]: true,
    [`String(m)`]: '[object ModelContext]',
    [`ModelContext.length + ModelContext.name`]: '0ModelContext',
    [`ModelContext.prototype.registerTool.length + ModelContext.prototype.registerTool.name`]: '1registerTool',
    [`d(ModelContext.prototype, 'registerTool').enumerable`]: true,
    [`d(window, 'ModelContext').enumerable`]: false,
    [`typeof d(Document.prototype, 'modelContext').set + d(Document.prototype, 'modelContext').configurable`]: 'functiontrue',
    [`try { new ModelContext() } catch (e) { e.message }`]: "Failed to construct 'ModelContext': Illegal constructor",
    [`'use strict'; navigator.modelContext = 1; navigator.modelContext === m`]: true,
    [`Object.defineProperty(navigator, 'modelContext', { value: 7, configurable: true }); navigator.modelContext`]: 7,
    [`window.agent = 5; agent`]: 5,
    [`try { Document.prototype.modelContext; 'no' } catch { 'throws' }`]: 'throws',
    [`Object.keys(window).filter((k) => /shim|^_/.test(k)).length`]: 0,
  };
  for (const [script, want] of Object.entries(facts)) assert.equal(page.run(script), want, script);
});

test('tools of the manifest: below script tools, answered by the event, refused by rule', async () => {
  const tools = [
    { name: 'm', description: 'from the manifest', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
    { name: 'b', description: 'hidden' }, { name: 'no good', description: 'x' }, { name: 'm', description: 'again' }, { name: 'z', description: '' }, 7,
    { name: { toString: 1, valueOf: 1 }, description: 'd' },
  ];
  const page = openPage({ manifest: JSON.stringify({ name: 'app', tools }) });
  page.run(`document.modelContext.provideContext({ tools: [{ name: 'b', description: 'script', execute: () => 'script' }] });
    agent.addEventListener('toolcall', (e) => { if (e.name === 'm') e.respondWith(e.input); });`);
  await page.run('new Promise((r) => setTimeout(r, 20))');
  const state = await page.state();
  assert.deepEqual(state.tools.map((t) => [t.name, t.via]), [['b', 'provideContext'], ['m', 'manifest']]);
  assert.deepEqual(state.tools[1].annotations, { readOnlyHint: true });
  assert.deepEqual(state.refused.map((r) => r.message).sort(), [
    'Cannot convert object to primitive value', 'Description is required', 'Duplicate tool name',
    "Failed to read the 'description' property from 'ModelContextTool': Required member is undefined.", 'Invalid tool name',
  ]);
  assert.deepEqual((await page.call('m', { q: 1 })).payload, { q: 1 });
  page.run('document.modelContext.provideContext()');
  assert.deepEqual((await page.state()).tools.map((t) => t.description), ['from the manifest', 'hidden']);
  assert.equal((await page.call('b')).k, 'unhandled');
});

test('a manifest that is too large, or not JSON, declares nothing', async () => {
  for (const manifest of ['{', 'null', '[]', '{"tools":3}', JSON.stringify({ tools: [{ name: 'a', description: 'x'.repeat(1 << 20) }] })]) {
    const page = openPage({ manifest });
    await page.run('new Promise((r) => setTimeout(r, 20))');
    assert.equal((await page.state()).rev, 0);
  }
});
