import assert from 'node:assert/strict';
import test from 'node:test';
import { openPage } from '../testpage/page.mjs';

const on = (method, type = 'ModelContext') => `Failed to execute '${method}' on '${type}': `;
const settle = (promise) => `${promise}.then((v) => 'resolved ' + v, (e) => e.name + ': ' + e.message)`;
const failed = 'UnknownError: Tool was executed but the invocation failed. For example, the script function threw an error';
const transient = 'UnknownError: The operation failed for an unknown transient reason (e.g. out of memory).';
const plain = (value) => JSON.parse(JSON.stringify(value));

test('getTools gives what was registered, sorted by name, in objects of the page', async () => {
  const page = openPage();
  page.run(`var m = document.modelContext;
    m.registerTool({ name: 'b', description: 'd', execute() {} });
    m.registerTool({ name: 'a', title: 'T', description: 'd', inputSchema: { type: 'object' }, outputSchema: { type: 'string' },
      annotations: { readOnlyHint: true, destructiveHint: true }, execute() {} });
    m.registerTool({ name: 'B', description: 'd', annotations: {}, execute() {} })`);
  const list = await page.run('m.getTools()');
  assert.deepEqual([...list].map((t) => t.name), ['B', 'a', 'b']);
  const [upper, a, b] = list;
  assert.equal(a.window, page.run('window'));
  const none = { consequentialHint: false, debugging: false, readOnlyHint: false, untrustedContentHint: false };
  const show = ({ window: _, ...rest }) => plain(rest);
  assert.deepEqual(show(a), {
    annotations: { ...none, readOnlyHint: true, destructiveHint: true }, description: 'd', inputSchema: { type: 'object' }, name: 'a',
    origin: 'https://page.test', outputSchema: { type: 'string' }, title: 'T',
  });
  assert.deepEqual(show(b), { description: 'd', name: 'b', origin: 'https://page.test', title: '' });
  assert.deepEqual(upper.annotations && plain(upper.annotations), none);
  assert.equal(await page.run(`m.getTools().then((l) => l instanceof Array && l[0].__proto__ === Object.prototype)`), true);
});

test('getTools rejects as registerTool does', async () => {
  const faults = {
    '3': `TypeError: ${on('getTools')}The provided value is not of type 'ModelContextGetToolOptions'.`,
    "{ fromOrigins: ['http://a.test'] }": 'SecurityError: Only secure origins are allowed in the fromOrigins list.',
    "{ fromOrigins: ['*'] }": 'SecurityError: Only secure origins are allowed in the fromOrigins list.',
    '{ fromOrigins: 1 }': `TypeError: ${on('getTools')}Failed to read the 'fromOrigins' property from 'ModelContextGetToolOptions': The provided value cannot be converted to a sequence.`,
    "{ fromOrigins: ['https://a.test'], get signal() { throw 1 } }": 'resolved ',
  };
  for (const [options, want] of Object.entries(faults)) {
    assert.equal(await openPage().run(settle(`document.modelContext.getTools(${options})`)), want);
  }
  assert.equal(await openPage().run(`detached = true; ${settle('document.modelContext.getTools()')}`), 'InvalidStateError: The document is not active.');
});

const echo = `var log = []; document.modelContext.registerTool({ name: 'echo', description: 'd', execute: (input) => input });
  var tool = { name: 'echo', description: 'd', origin, window };`;

test('executeTool: the faults of its arguments', async () => {
  const member = (m) => `TypeError: ${on('executeTool')}Failed to read the '${m}' property from 'RegisteredTool': `;
  const bad = `TypeError: ${on('executeTool')}invalid input object: `;
  const faults = [
    ['', `TypeError: ${on('executeTool')}1 argument required, but only 0 present.`],
    ['3', `TypeError: ${on('executeTool')}The provided value is not of type 'RegisteredTool'.`],
    ['{ ...tool, description: undefined }', `${member('description')}Required member is undefined.`],
    ['{ ...tool, origin: undefined }', `${member('origin')}Required member is undefined.`],
    ['{ ...tool, window: undefined }', `${member('window')}Required member is undefined.`],
    ['{ ...tool, name: undefined }', `${member('name')}Required member is undefined.`],
    ['tool, 3', `${bad}value is not an object`], ['tool, null', `${bad}value is not an object`], ['tool, "3"', `${bad}value is not an object`],
    ['tool, "{"', `${bad}value is not an object`], ['tool, true', `${bad}value is not an object`],
    ['tool, { toJSON() {} }', `${bad}toJSON() returns undefined`],
    ['tool, {}, 3', `TypeError: ${on('executeTool')}The provided value is not of type 'ExecuteToolOptions'.`],
    ['tool, {}, { signal: {} }', `TypeError: ${on('executeTool')}Failed to read the 'signal' property from 'ExecuteToolOptions': Failed to convert value to 'AbortSignal'.`],
    ['tool, {}, { signal: AbortSignal.abort(new RangeError("why")) }', 'RangeError: why'],
    ['{ ...tool, origin: "nonsense" }', 'NotSupportedError: The provided origin is invalid.'],
    ['{ ...tool, origin: "data:x" }, {}, { signal: AbortSignal.abort(1) }', 'NotSupportedError: Cannot execute tools that live in a document with an opaque origin.'],
    ['tool, new Date(0)', 'UnknownError: Failed to parse input arguments'],
    ['{ ...tool, annotations: 3 }', `${member('annotations')}The provided value is not of type 'ToolAnnotations'.`],
    ['{ ...tool, inputSchema: 3 }', `${member('inputSchema')}Failed to convert value to 'object'.`],
    ['{ ...tool, title: Symbol() }', `${member('title')}Cannot convert a Symbol value to a string`],
    ['{ ...tool, origin: "https://other.test" }', transient], ['{ ...tool, name: "nobody" }', transient],
    ['{ ...tool, name: "nobody" }, {}, { signal: AbortSignal.abort(new RangeError("why")) }', 'RangeError: why'],
  ];
  for (const [args, want] of faults) assert.equal(await openPage().run(echo + settle(`document.modelContext.executeTool(${args})`)), want, args);
});

test('executeTool: input as an object or as JSON, results as strings', async () => {
  const page = openPage();
  page.run(echo);
  for (const [input, want] of [['', '{}'], [', undefined', '{}'], [', [1]', '[1]'], [', { a: 1, f() {} }', '{"a":1}'], [`, '{"b":2}'`, '{"b":2}'], [', { toJSON: () => ({ c: 3 }) }', '{"c":3}']]) {
    assert.equal(await page.run(settle(`document.modelContext.executeTool(tool${input})`)), `resolved ${want}`, input);
  }
  const results = {
    "''": 'Operation succeeded', '"text"': 'text', undefined: 'undefined', null: 'null', '() => 1': 'undefined', '{ toJSON() {} }': 'undefined',
    'new Error("x")': '{}', 'new Map([[1, 2]])': '{}', '12345678901234567890n': '12345678901234567890', '1.5': '1.5', '[1, "2"]': '[1,"2"]',
    '{ content: [] }': '{"content":[]}', 'Promise.resolve(true)': 'true', '{ toJSON: () => "s" }': '"s"',
  };
  for (const [value, want] of Object.entries(results)) {
    page.run(`document.modelContext.provideContext({ tools: [{ name: 'echo', description: 'd', execute: () => (${value}) }] })`);
    assert.equal(await page.run(settle('document.modelContext.executeTool(tool)')), `resolved ${want}`, value);
  }
  for (const value of ['Symbol()', '(() => { throw new RangeError("secret") })()', '(() => { const o = {}; o.o = o; return o })()', 'Promise.reject(1)', '{ n: 1n }']) {
    page.run(`document.modelContext.provideContext({ tools: [{ name: 'echo', description: 'd', execute: () => (${value}) }] })`);
    assert.equal(await page.run(settle('document.modelContext.executeTool(tool)')), failed, value);
  }
  page.run(`document.modelContext.provideContext({ tools: [{ name: 'echo', description: 'd' }] })`);
  assert.equal(await page.run(settle('document.modelContext.executeTool(tool)')), failed);
  page.run(`agent.addEventListener('toolcall', (e) => e.respondWith({ by: 'event', ...e.input }))`);
  assert.equal(await page.run(settle('document.modelContext.executeTool(tool, { q: 1 })')), 'resolved {"by":"event","q":1}');
});

test('executeTool: its signal rejects at once and aborts the tool with a reason of its own; unregistering does not', async () => {
  const page = openPage();
  page.run(`var log = [], c = new AbortController();
    document.modelContext.registerTool({ name: 'wait', description: 'd', execute: (_, { signal }) => new Promise((r) => {
      log.push('runs'); signal.onabort = () => log.push(signal.reason.name); document.modelContext.unregisterTool('wait'); release = r }) });
    var p = document.modelContext.executeTool({ name: 'wait', description: '', origin, window }, {}, { signal: c.signal })
      .then((v) => 'resolved ' + v, (e) => { log.push('rejected'); return 'rejected ' + e });`);
  page.run(`c.abort('mine')`);
  assert.equal(await page.run('p'), 'rejected mine');
  await page.run('new Promise((r) => setTimeout(r))');
  assert.equal(page.run('log.join()'), 'runs,rejected,AbortError');
  page.run(`document.modelContext.registerTool({ name: 'wait', description: 'd', execute: () => new Promise((r) => {
      document.modelContext.unregisterTool('wait'); release = r }) });
    p = document.modelContext.executeTool({ name: 'wait', description: '', origin, window }); release('kept')`);
  assert.equal(await page.run('p'), 'kept');
});

test('a page whose call waits for a document that goes away is told; so is one whose calls are shut down', async () => {
  for (const end of [`dispatchEvent(new Event('pagehide'))`, '']) {
    const page = openPage();
    page.run(`document.modelContext.registerTool({ name: 'hang', description: 'd', execute: () => new Promise(() => {}) });
      var p = ${settle(`document.modelContext.executeTool({ name: 'hang', description: '', origin, window })`)}`);
    if (end === '') assert.equal(page.evaluate('shutdown', 'navigating'), 1);
    else page.run(end);
    assert.equal(await page.run('p'), failed);
  }
});

test('toolactivated and toolcancel: on the object, on window.agent and on window, for every kind of call', async () => {
  const page = openPage();
  page.run(`var log = [];
    const note = (where) => (e) => log.push(where + ' ' + e.type + ' ' + e.toolName + (e instanceof (e.type === 'toolcancel' ? ToolCancelEvent : ToolActivatedEvent)) + e.bubbles + e.cancelable);
    for (const type of ['toolactivated', 'toolcancel']) {
      document.modelContext['on' + type] = note('m');
      agent.addEventListener(type, note('a'));
      window['on' + type] = note('w');
    }
    document.modelContext.registerTool({ name: 't', description: 'd', execute: () => { log.push('execute'); return new Promise(() => {}) } })`);
  const three = (type) => ['m', 'a', 'w'].map((where) => `${where} ${type} ttruefalsefalse`);
  const call = page.call('t', {}, { id: 'one' });
  await page.state();
  page.evaluate('abort', 'one', 'why');
  assert.equal((await call).k, 'aborted');
  const want = ['execute', ...three('toolactivated'), ...three('toolcancel')];
  assert.deepEqual([...page.run('log.splice(0)')], want);
  page.run(`var c = new AbortController(); document.modelContext.executeTool({ name: 't', description: '', origin, window }, {}, { signal: c.signal }).catch(() => {}); c.abort()`);
  await page.run('new Promise((r) => setTimeout(r))');
  assert.deepEqual([...page.run('log.splice(0)')], want);
});

test('modelContextTesting of 146: names and JSON strings', async () => {
  const page = openPage();
  page.run(`${echo} document.modelContext.registerTool({ name: 's', description: 'x', inputSchema: { type: 'object' }, execute: () => 'done' }); var t = navigator.modelContextTesting`);
  assert.deepEqual(plain(page.run('t.listTools()')), [{ description: 'd', name: 'echo' }, { description: 'x', inputSchema: '{"type":"object"}', name: 's' }]);
  assert.equal(await page.run(settle(`t.executeTool('echo', '{"a":1}')`)), 'resolved {"a":1}');
  assert.equal(await page.run(settle(`t.executeTool('s', '{}')`)), 'resolved done');
  assert.equal(await page.run(settle(`t.executeTool('nobody', '{}')`)), 'UnknownError: Tool not found: nobody');
  assert.equal(await page.run(settle(`t.executeTool('s', '{')`)), 'UnknownError: Failed to parse input arguments');
  assert.equal(await page.run(settle(`t.executeTool('s')`)), `TypeError: ${on('executeTool', 'ModelContextTesting')}2 arguments required, but only 1 present.`);
  assert.equal(await page.run(settle(`t.getCrossDocumentScriptToolResult()`)), 'resolved []');
  assert.equal(page.run(`try { t.registerToolsChangedCallback(3) } catch (e) { e.message }`), `${on('registerToolsChangedCallback', 'ModelContextTesting')}parameter 1 is not of type 'Function'.`);
  page.run(`var n = 0; t.registerToolsChangedCallback(() => { n += 100 }); t.registerToolsChangedCallback(() => n++); document.modelContext.clearContext()`);
  await page.run('new Promise((r) => setTimeout(r))');
  assert.equal(page.run('n'), 1);
});

test('the shape of the later interfaces', () => {
  const page = openPage();
  page.run(`var d = (o, k) => Object.getOwnPropertyDescriptor(o, k), m = document.modelContext, P = ModelContext.prototype;
    var error = (f) => { try { f(); return 'none' } catch (e) { return e.name + ': ' + e.message } }`);
  const facts = {
    [`[P.getTools.length, P.executeTool.length, P.registerTool.length, P.provideContext.length, P.unregisterTool.length].join()`]: '0,1,1,0,1',
    [`Object.keys(P).sort().join()`]: 'clearContext,executeTool,getTools,ontoolactivated,ontoolcancel,ontoolchange,provideContext,registerTool,unregisterTool',
    [`d(P, 'ontoolcancel').get.name + d(P, 'ontoolcancel').set.name + d(P, 'ontoolcancel').configurable`]: 'get ontoolcancelset ontoolcanceltrue',
    [`error(() => P.ontoolchange)`]: 'TypeError: Illegal invocation',
    [`error(() => d(P, 'ontoolchange').set.call({}, null))`]: 'TypeError: Illegal invocation',
    [`error(() => d(window, 'ontoolchange').get.call({}))`]: 'TypeError: Illegal invocation',
    [`m.ontoolcancel = 3; String(m.ontoolcancel)`]: 'null',
    [`m.ontoolcancel = {}; typeof m.ontoolcancel`]: 'object',
    [`ontoolchange = () => {}; typeof window.ontoolchange`]: 'function',
    [`'prototype' in P.getTools`]: false,
    [`ToolActivatedEvent.length + ToolActivatedEvent.name + Object.getPrototypeOf(ToolActivatedEvent).name`]: '1ToolActivatedEventEvent',
    [`new ToolCancelEvent('x', { toolName: 7, bubbles: true }).toolName + String(new ToolCancelEvent('x')) + new ToolCancelEvent('x').toolName`]: '7[object ToolCancelEvent]',
    [`error(() => new ToolActivatedEvent())`]: "TypeError: Failed to construct 'ToolActivatedEvent': 1 argument required, but only 0 present.",
    [`error(() => new ToolCancelEvent('x', 3))`]: "TypeError: Failed to construct 'ToolCancelEvent': The provided value is not of type 'ToolCancelEventInit'.",
    [`error(() => new ToolCancelEvent('x', { toolName: Symbol() }))`]: "TypeError: Failed to construct 'ToolCancelEvent': Failed to read the 'toolName' property from 'ToolCancelEventInit': Cannot convert a Symbol value to a string",
    [`error(() => ToolActivatedEvent.prototype.toolName)`]: 'TypeError: Illegal invocation',
    [`d(ToolActivatedEvent.prototype, 'toolName').enumerable`]: true,
    [`String(navigator.modelContextTesting) + (navigator.modelContextTesting instanceof ModelContextTesting)`]: '[object ModelContextTesting]true',
    [`error(() => new ModelContextTesting())`]: "TypeError: Failed to construct 'ModelContextTesting': Illegal constructor",
    [`'modelContext' in navigator && 'modelContext' in document && 'modelContextTesting' in navigator && 'agent' in window`]: true,
    [`d(window, 'ToolCancelEvent').enumerable`]: false,
  };
  for (const [script, want] of Object.entries(facts)) assert.equal(page.run(script), want, script);
});

test('methods that answer with a promise reject when they are called on something else', async () => {
  const page = openPage();
  for (const method of ['registerTool', 'getTools', 'executeTool']) {
    assert.equal(await page.run(settle(`ModelContext.prototype.${method}.call({})`)), `TypeError: ${on(method)}Illegal invocation`);
  }
  assert.equal(page.run(`try { navigator.modelContextTesting.listTools.call(document.modelContext) } catch (e) { e.message }`), `${on('listTools', 'ModelContextTesting')}Illegal invocation`);
});
