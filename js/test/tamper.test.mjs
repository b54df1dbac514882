import assert from 'node:assert/strict';
import test from 'node:test';
import { name, openPage, parseReply } from '../testpage/page.mjs';

// Script that a page may run: everything it can reach by name is replaced or trapped, and says so in `seen`.
const tamper = `
  var seen = [];
  {
    const { defineProperty } = Object;
    let count = 0;
    const note = (what) => defineProperty(seen, count++, { __proto__: null, value: what, enumerable: true });
    const evil = (what) => function () { note(what); throw new Error('evil'); };
    const take = (object, ...names) => { for (let i = 0; i < names.length; i++) {
      const what = String(names[i]);
      defineProperty(object, names[i], { __proto__: null, value: evil(what), configurable: true, writable: true });
    } };
    const owners = [Promise, ['resolve', 'reject', 'all'], Promise.prototype, ['then', 'catch', 'finally'], Map.prototype, ['get', 'set', 'has', 'delete', 'forEach', 'clear'],
      Set.prototype, ['add', 'has', 'delete', 'forEach'], WeakMap.prototype, ['get', 'set', 'has'], JSON, ['parse', 'stringify'],
      Array, ['isArray', 'from'], Array.prototype, ['push', 'map', 'join', 'forEach', 'concat', 'slice', 'toJSON'],
      Object, ['keys', 'hasOwn', 'freeze', 'assign', 'defineProperty', 'getPrototypeOf'], Object.prototype, ['toJSON', 'toString', 'hasOwnProperty', 'valueOf'],
      Function.prototype, ['call', 'apply', 'bind'], Reflect, ['apply', 'construct', 'get', 'ownKeys', 'defineProperty'],
      String.prototype, ['charCodeAt', 'slice', 'toWellFormed', 'toString', 'toJSON'], Number.prototype, ['valueOf', 'toString', 'toJSON'], BigInt.prototype, ['toJSON', 'toString'],
      EventTarget.prototype, ['addEventListener', 'dispatchEvent', 'removeEventListener'], AbortController.prototype, ['abort'], Event.prototype, ['stopImmediatePropagation']];
    const all = () => { for (let i = 0; i < owners.length; i += 2) for (let j = 0; j < owners[i + 1].length; j++) take(owners[i], owners[i + 1][j]); };
    const iterators = [Array.prototype, Map.prototype, Set.prototype, String.prototype];
    const traps = ['name', '0', '1', 'value', 'get', 'set', 'writable', 'enumerable', 'id', 'text', 'refusal', 'resolve', 'next', 'rev', 'kind', 'once', 'cancelable',
      'message', 'execute', 'title', 'annotations', 'inputSchema', 'signal', 'error', 'k'];
    all();
    for (let i = 0; i < iterators.length; i++) take(iterators[i], Symbol.iterator);
    for (let i = 0; i < traps.length; i++) defineProperty(Object.prototype, traps[i], { __proto__: null, configurable: true, get() { return undefined; }, set() { note('set ' + traps[i]); } });
    defineProperty(Array.prototype, '2', { __proto__: null, configurable: true, get() { return undefined; }, set() { note('set [2]'); } });
    defineProperty(Promise.prototype, 'constructor', { __proto__: null, configurable: true, get() { note('constructor'); } });
    defineProperty(Promise, Symbol.species, { __proto__: null, configurable: true, get() { note('species'); } });
  }`;

/** What of the traps was touched. The list itself is one of a spoiled page: no method of it can be used. */
function seen(page) {
  const list = page.run('seen');
  const out = [];
  for (let i = 0; i < list.length; i++) out.push(list[i]);
  return out;
}

const tools = `
  var echo = { name: 'echo', description: 'd', inputSchema: { type: 'object', required: ['a'] }, execute: (input) => ({ input, list: [1, [2n], 'é'] }) };
  var quiet = { name: 'quiet', description: 'd', execute: () => 'text' };
  document.modelContext.registerTool(echo); document.modelContext.registerTool(quiet);`;

for (const order of ['before', 'after']) {
  test(`a page that replaces everything it can reach ${order} registering changes nothing`, async () => {
    const page = openPage();
    if (order === 'before') page.run(tamper + tools);
    else page.run(tools + tamper);
    const text = await page.evaluate('watch', -1);
    const state = JSON.parse(text);
    assert.deepEqual(state.tools.map((t) => [t.id, t.name, t.inputSchema]), [[1, 'echo', '{"type":"object","required":["a"]}'], [2, 'quiet', undefined]]);
    const waiting = page.evaluate('watch', state.rev);
    const quiet = parseReply(await page.evaluate('call', 'q', 2, '{}', 100, 1e9));
    assert.equal(quiet.payload, 'text', quiet.text + seen(page));
    assert.deepEqual(seen(page), [], 'code of the page ran because of a call or a watch');
    const echo = parseReply(await page.evaluate('call', 'e', 1, '{"a":[1,2,{"b":null}]}', 1000, 1e9));
    assert.deepEqual(echo.payload, { input: { a: [1, 2, { b: null }] }, list: [1, ['2'], 'é'] }, echo.text);
    page.run(`document.modelContext.provideContext({ tools: [quiet] })`);
    assert.deepEqual(JSON.parse(await waiting).tools.map((t) => [t.id, t.name]), [[3, 'quiet']]);
    assert.deepEqual(seen(page), []);
  });
}

test('the positive control: the tampering does reach code that is not careful', () => {
  const page = openPage();
  page.run(tamper);
  assert.equal(page.run(`try { JSON.parse('{}') } catch (e) { e.message }`), 'evil');
  assert.equal(page.run(`var list = []; list[2] = 1; seen[seen.length - 1]`), 'set [2]');
});

test('a polluted toJSON on the shared prototypes does not count, one of a class does', async () => {
  const page = openPage();
  page.run(`Object.prototype.toJSON = Array.prototype.toJSON = () => 'forged'; Date.prototype.toJSON = () => 'mine';
    document.modelContext.registerTool({ name: 'a', description: 'd', inputSchema: { type: 'object' }, execute: () => [{ a: [] }, new Date(0)] })`);
  assert.equal((await page.state()).tools[0].inputSchema, '{"type":"object"}');
  assert.deepEqual((await page.call('a')).payload, [{ a: [] }, 'mine']);
});

test('nothing that the page can reach holds the name or the object', async () => {
  const page = openPage();
  page.run(`var frames = '';
    document.modelContext.registerTool({ name: 'trace', description: 'd', execute: function trace(input, context) {
      Error.prepareStackTrace = (_, sites) => { for (const s of sites) frames += String(s.getFunction()) + String(s.getThis()); return ''; };
      new Error('x').stack;
      Error.prepareStackTrace = undefined;
      frames += String(trace.caller) + String(context.requestUserInteraction) + new Error('y').stack;
    } })`);
  await page.call('trace');
  assert.ok(page.run('frames').length > 100);
  assert.ok(!page.run('frames').includes(name));
  assert.equal(page.run(`Reflect.ownKeys(globalThis).some((k) => /^_[0-9a-f]{32}$/.test(String(k)))`), false);
  assert.equal(page.run(`[document.modelContext.registerTool, agent.provideContext, ModelContext].every((f) => !Function.prototype.toString.call(f).includes('${name}'))`), true);
  assert.deepEqual(page.run(`Reflect.ownKeys(${name}).join() + Object.isFrozen(${name}) + Object.getPrototypeOf(${name})`), 'watch,call,wait,answer,remind,abort,shutdown,attend,fault,own,outcome,hosttruenull');
});
