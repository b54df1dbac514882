import assert from 'node:assert/strict';
import test from 'node:test';
import { openPage, parseReply } from '../testpage/page.mjs';

const add = (name, execute) => `document.modelContext.registerTool({ name: '${name}', description: 'd', execute: ${execute} });`;
const more = 'const more = () => new Promise((r) => setTimeout(r, 5));';

/** heard calls a tool and listens to its end. @returns {Promise<any[]>} */
async function heard(page, tool, { id = tool, ...options } = {}) {
  const all = [await page.call(tool, {}, { id, ...options })];
  while (all.at(-1).k === 'parts') all.push(parseReply(await page.evaluate('wait', id, 1e9)));
  return all;
}

/** ended returns how a call of a tool ends, and the last that is told of its parts. */
async function ended(page, tool, options) {
  const all = await heard(page, tool, options);
  const told = all.filter((reply) => reply.parts > 0).at(-1);
  return { ...all.at(-1), parts: told?.parts ?? 0, last: told?.last };
}

const results = {
  'async function* () { yield "a"; yield "b" }': ['"ab"', 2, 'b'], 'async function* () { yield "a"; yield 1; yield undefined; yield [{}] }': ['["a",1,null,[{}]]', 4, [{}]],
  'async function* () { yield { progress: 1 }; return { a: 1 } }': ['{"a":1}', 1, { progress: 1 }], 'async function* () {}': ['null', 0, undefined], 'async function* () { return "r" }': ['"r"', 0, undefined],
  'async function* () { yield 1; return null }': ['null', 1, 1], 'async () => (async function* () { yield "\\ud83d"; yield "\\ude00é" })()': ['"\\ud83d\\ude00é"', 2, '\ude00é'],
  '() => ({ [Symbol.asyncIterator]() { let n = 0; return { next: () => n === 2 ? { done: true } : { value: n++ } } } })': ['[0,1]', 2, 1],
  '() => new (class { n = 2; async *[Symbol.asyncIterator]() { while (this.n--) yield this.n } })()': ['[1,0]', 2, 0],
  '() => new ReadableStream({ start(c) { c.enqueue("x"); c.enqueue("y"); c.close() } })': ['"xy"', 2, 'y'],
  'async function* () { yield* (async function* () { yield "in"; return "of it" })(); }': ['"in"', 1, 'in'],
  'async function* () { const one = { n: 1 }; yield one; one.n = 2; yield one }': ['[{"n":1},{"n":2}]', 2, { n: 2 }],
};

test('the result of an async iterable is what it returns, or all of its parts', async () => {
  for (const [execute, [json, parts, last]] of Object.entries(results)) {
    const page = openPage();
    page.run(add('t', execute));
    const end = await ended(page, 't');
    assert.deepEqual([end.k, end.json], ['ok', json], execute + end.text);
    if (last !== undefined) assert.deepEqual([end.parts, end.last], [parts, last], execute);
  }
});

const faults = {
  'async function* () { yield 1; throw new RangeError("broke") }': ['error', 'broke'], 'async function* () { yield () => 1 }': ['invalid', 'parts[0]: a function'],
  'async function* () { yield 1; yield { a: [Symbol("s")] } }': ['invalid', 'parts[1].a[0]: a symbol'], 'async function* () { return () => 1 }': ['invalid', 'result: a function'],
  '() => ({ [Symbol.asyncIterator]: () => 1 })': ['error', 'the iterator of the result is not an object'], '() => ({ [Symbol.asyncIterator]: () => ({ next: () => 1 }) })': ['error', 'the iterator of the result gave something that is not an object'],
  '() => ({ get [Symbol.asyncIterator]() { throw new Error("got") } })': ['error', 'got'], '() => ({ [Symbol.asyncIterator]() { throw new Error("made") } })': ['error', 'made'],
  'async function* () { for (let i = 0; i < 10001; i++) yield 1 }': ['too_large', 'parts: more than 10000, or longer than 1048576 bytes'],
  'async function* () { for (;;) yield "x".repeat(1000) }': ['too_large', 'parts: more than 10000, or longer than 1048576 bytes'],
  'async function* () { yield "é".repeat(2 ** 18); yield "é".repeat(2 ** 18 - 1); yield "xxx" }': ['too_large', 'parts: more than 10000, or longer than 1048576 bytes'],
  'async function* () { yield "é".repeat(2 ** 18); yield ["x".repeat(2 ** 19)]; return 1 }': ['too_large', 'parts: more than 10000, or longer than 1048576 bytes'],
  'async function* () { yield "x".repeat(60); yield "x".repeat(60) }': ['too_large', 'longer than 100 bytes', 100], '() => (function* () { yield 1 })()': ['invalid', 'result: a value of the kind Generator, which is no JSON'],
  '() => [(async function* () {})()]': ['invalid', 'result[0]: a value of the kind AsyncGenerator, which is no JSON'],
};

test('an async iterable that fails, or has no JSON, or never ends is a failure', async () => {
  for (const [execute, [kind, message, max]] of Object.entries(faults)) {
    const page = openPage();
    page.run(add('t', execute));
    const end = await ended(page, 't', max && { max });
    assert.deepEqual([end.k, end.message, end.len], [kind, message, 0], execute);
  }
  const page = openPage();
  page.run(add('most', 'async function* () { for (let i = 0; i < 10000; i++) yield 1; return "all" }'));
  assert.equal((await ended(page, 'most')).payload, 'all');
  page.run(add('full', 'async function* () { for (let i = 0; i < 1023; i++) yield "é".repeat(511) + "xx"; yield "é".repeat(511) }')); // quotes do not count
  assert.deepEqual((({ k, len }) => [k, len])(await ended(page, 'full')), ['ok', 2 ** 20]);
});

test('parts are told soon, seldom and never twice, and what was not told comes with the end', async () => {
  const page = openPage();
  page.run(`${more} ${add('t', 'async function* () { yield "first"; for (let i = 0; i < 40; i++) { await more(); yield i } return "end" }')}`);
  const all = await heard(page, 't');
  assert.deepEqual([all[0].k, all[0].parts, all[0].last], ['parts', 1, 'first']);
  assert.ok(all.length > 2 && all.length < 20, `${all.length}`);
  const told = all.filter((r) => r.parts !== undefined).map((r) => r.parts);
  assert.deepEqual(told, [...new Set(told)].sort((a, b) => a - b));
  assert.deepEqual([told.at(-1), all.at(-1).payload], [41, 'end']);
});

const long = {
  '"é".repeat(5000)': 'é'.repeat(1280), '"x".repeat(8190)': 'x'.repeat(8190), '"x" + "😀".repeat(5000)': `x${'😀'.repeat(639)}`,
  '"\\u0001".repeat(9000)': '\u0001'.repeat(1280), '{ message: "x".repeat(9000), progress: 1.5, total: 1e300 }': { message: 'x'.repeat(1280), progress: 1.5, total: 1e300 },
  '{ total: 2, message: "é".repeat(9000) }': { message: 'é'.repeat(1280), total: 2 }, '{ message: "x".repeat(9000), id: 1 }': `{"message":"${'x'.repeat(1268)}`,
  '{ message: "x".repeat(9000), progress: "1" }': `{"message":"${'x'.repeat(1268)}`, '["x".repeat(9000)]': `["${'x'.repeat(1278)}`,
  'JSON.rawJSON?.("9".repeat(9000)) ?? "9".repeat(9000)': '9'.repeat(1280),
};

test('a long part is told with its beginning, in the form that it has', async () => {
  for (const [part, last] of Object.entries(long)) {
    const page = openPage();
    page.run(`Object.prototype.toJSON = () => 'stolen'; Object.prototype.message = 'm'; ${add('t', `async function* () { yield ${part}; return 1 }`)}`);
    const end = await ended(page, 't');
    assert.deepEqual([end.last, end.payload], [last, 1], part);
    assert.ok(Buffer.byteLength(JSON.stringify(end.last)) <= 8192, part);
  }
});

test('a call that ends early closes its iterator once, after which it asks for nothing', async () => {
  for (const [end, kind] of [['abort', 'aborted'], ['shutdown', 'aborted'], ['invalid', 'invalid']]) {
    const page = openPage();
    page.run(`var log = [], go; ${add('t', `() => ({ [Symbol.asyncIterator]: () => ({
      next() { log.push('next'); return new Promise((r) => { go = (value) => r({ done: false, value }) }) },
      return() { log.push('return'); return new Promise((r) => setTimeout(() => { log.push('closed'); r({ done: true }) }, 10)) } }) })`)}`);
    const first = page.call('t', {}, { id: 'c' });
    await new Promise(setImmediate);
    if (end === 'invalid') page.run('go(() => 1)');
    else page.evaluate(end, ...(end === 'abort' ? ['c', 'why'] : ['why']));
    assert.equal((await first).k, kind);
    assert.equal(await page.evaluate('shutdown', 'closing'), 0); // it waits for what closes
    page.run('go?.(2)');
    await page.state();
    assert.equal(page.run('log.join()'), 'next,return,closed', end);
  }
});

test('what closes badly has a second, and no iterator that failed or ended is closed', async () => {
  const page = openPage();
  page.run(`var times = 0; const iterable = (next, back) => () => ({ [Symbol.asyncIterator]: () => ({ next, return() { times++; return back() } }) });
    ${add('throws', `iterable(() => ({ value: () => 1 }), () => { throw 1 })`)} ${add('never', `iterable(() => ({ value: () => 1 }), () => new Promise(() => {}))`)}
    ${add('fails', `iterable(() => { throw new Error('f') }, () => 1)`)} ${add('ends', `iterable(() => ({ done: true }), () => 1)`)}`);
  for (const [tool, kind, times] of [['fails', 'error', 0], ['ends', 'ok', 0], ['throws', 'invalid', 1], ['never', 'invalid', 2]]) {
    assert.deepEqual([(await page.call(tool)).k, page.run('times')], [kind, times], tool);
  }
  assert.equal(await page.evaluate('shutdown', 'closing'), 0);
});

/** Hostile iterators: how the call ends, and how often `return` is called, when it is aborted where it does not end. */
const hostile = {
  '{ get next() { throw new Error("got") }, back }': ['error', 'got', 0], '{ next: 7, back }': ['error', undefined, 0], '{ back }': ['error', undefined, 0],
  '{ next() { throw new Error("thrown") }, back }': ['error', 'thrown', 0], '{ next: () => Promise.reject(new Error("rejected")), back }': ['error', 'rejected', 0],
  '{ next: () => 7, back }': ['error', undefined, 0], '{ next: () => ({ get then() { throw new Error("then") } }), back }': ['error', 'then', 0],
  '{ next: () => ({ get done() { throw new Error("done") } }), back }': ['error', 'done', 0], '{ next: () => ({ get value() { throw new Error("value") } }), back }': ['error', 'value', 0],
  '{ next: () => ({ done: 1, value: "end" }), back }': ['ok', '', 0], '{ next: () => ({ then(r) { r({ done: true }); r({ value: 1 }); throw 1 } }), back }': ['ok', '', 0],
  '{ next: () => ({ value: { get a() { throw new Error("part") } } }), back }': ['error', 'parts[0].a: part', 1],
  '{ next: () => ({ then() {} }), back }': ['aborted', 'why', 1], '{ next: () => new Promise(() => {}), back }': ['aborted', 'why', 1],
  '{ next: () => ({ value: { toJSON() { return () => 1 } } }), back }': ['invalid', 'parts[0]: a function', 1],
  'new Proxy({ next: () => new Promise(() => {}) }, { get(o, k) { if (k === "return") return back; return o[k] } })': ['aborted', 'why', 1],
};

/** What `return` may be: all of it ends within its second, and the call has ended before. */
const backs = [
  'times++', 'times++, 7', '{ times++; throw new Error("back") }', 'times++, Promise.reject(1)', 'times++, ({ get then() { throw 1 } })', 'times++, new Promise(() => {})', 'times++, ({ then() {} })',
];

test('hostile iterators end their calls, and are closed at most once', async () => {
  const called = async (page) => {
    const first = page.call('t', {}, { id: 'c' });
    for (let i = 0; i < 9; i++) await new Promise(setImmediate);
    page.evaluate('abort', 'c', 'why');
    const reply = await first;
    await page.evaluate('shutdown', 'closing');
    return reply;
  };
  for (const [iterator, [kind, message, times]] of Object.entries(hostile)) {
    const page = openPage();
    page.run(`var times = 0; const back = () => { times++; return {} }; ${add('t', `() => ({ [Symbol.asyncIterator]: () => (${iterator.replace('back }', 'return: back }')}) })`)}`);
    const reply = await called(page);
    assert.deepEqual([reply.k, page.run('times')], [kind, times], iterator);
    if (message !== undefined) assert.equal(reply.message ?? '', message, iterator);
  }
  await Promise.all(backs.map(async (back) => {
    const page = openPage();
    page.run(`var times = 0; ${add('t', `() => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}), return: () => ${back.startsWith('{') ? back : `(${back})`} }) })`)}`);
    assert.deepEqual([(await called(page)).k, page.run('times')], ['aborted', 1], back);
  }));
  for (const none of ['return: undefined', 'return: null', 'get return() { throw 1 }', 'return: 7']) {
    const page = openPage();
    page.run(add('t', `() => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}), ${none} }) })`));
    assert.equal((await called(page)).k, 'aborted', none);
  }
});

test('a generator is closed in its finally, a stream by its cancel', async () => {
  const page = openPage();
  page.run(`var log = []; ${more} ${add('generator', 'async function* (_, { signal }) { try { yield 1; await new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason))) } finally { log.push("finally") } }')}
    ${add('yielding', 'async function* () { try { for (;;) { yield 1; await more() } } finally { log.push("finally") } }')}
    ${add('stream', '() => new ReadableStream({ async pull(c) { await more(); c.enqueue("x") }, cancel() { log.push("finally") } })')}`);
  for (const tool of ['generator', 'yielding', 'stream']) {
    assert.equal((await page.call(tool, {}, { id: tool })).k, 'parts', tool);
    const end = page.evaluate('wait', tool, 1e9);
    page.evaluate('abort', tool, 'why');
    assert.ok(['aborted', 'parts'].includes(parseReply(await end).k), tool);
    await page.evaluate('shutdown', 'closing');
    assert.equal(page.run('log.splice(0).join()'), 'finally', tool);
  }
});

test('an iterator that a page puts on every object is none of its results', async () => {
  const page = openPage();
  page.run(`Object.prototype[Symbol.asyncIterator] = Array.prototype[Symbol.asyncIterator] = async function* () { yield 'stolen' };
    Object.prototype.then = undefined; ${add('t', '() => ({ a: [1] })')}`);
  assert.deepEqual((await page.call('t')).payload, { a: [1] });
});

test('a part is told after a question, and not while it is open', async () => {
  const page = openPage();
  page.run(`var pick; ${add('t', `async function* (_, agent) { yield 'a'; yield await agent.requestUserInteraction(() => new Promise((r) => { pick = r })); return 'end' }`)}`);
  const first = await page.call('t', {}, { id: 'c' });
  assert.deepEqual([first.k, first.last], ['parts', 'a']);
  const asks = parseReply(await page.evaluate('wait', 'c', 1e9));
  assert.deepEqual([asks.k, asks.name, asks.parts], ['asking', 'interaction', undefined]);
  const end = page.evaluate('wait', 'c', 1e9);
  page.run(`pick('b')`);
  let reply = parseReply(await end);
  if (reply.k === 'parts') reply = { ...parseReply(await page.evaluate('wait', 'c', 1e9)), parts: reply.parts, last: reply.last };
  assert.deepEqual([reply.payload, reply.parts, reply.last], ['end', 2, 'b']);
});
