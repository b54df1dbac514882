import assert from 'node:assert/strict';
import test from 'node:test';
import { openPage } from '../testpage/page.mjs';

const page = openPage();
let count = 0;

/** Runs a tool whose execute returns the value of an expression. */
function result(expression, options) {
  const name = `t${++count}`;
  page.run(`document.modelContext.clearContext(); document.modelContext.registerTool({ name: '${name}', description: 'd', execute: () => (${expression}) })`);
  return page.call(name, {}, options);
}

const good = {
  'undefined': 'null', 'null': 'null', 'true': 'true', '"x"': '"x"', '-0': '0', '1e21': '1e+21', '12345678901234567890': '12345678901234567000',
  'NaN': 'null', '[Infinity, -Infinity]': '[null,null]', '"12345678901234567890"': '"12345678901234567890"', '2n ** 70n': '"1180591620717411303424"',
  '{ a: undefined, b: [undefined] }': '{"b":[null]}', 'new Date(0)': '"1970-01-01T00:00:00.000Z"', 'new Date(NaN)': 'null',
  'new URL("https://a.test/é")': '"https://a.test/%C3%A9"', 'new Map([["a", 1], [{ k: 2n }, new Set([1, "x"])]])': '[["a",1],[{"k":"2"},[1,"x"]]]',
  'new Set([undefined])': '[null]', 'new Uint8Array([1, 255])': '[1,255]', 'new BigInt64Array([1n])': '["1"]', 'new Uint8Array([7, 8]).buffer': '[7,8]',
  'new RangeError("why")': '{"name":"RangeError","message":"why"}', '[new Number(3), new String("s"), new Boolean(false), Object(4n)]': '[3,"s",false,"4"]',
  '"\\ud800 \\u{1f600} \\u2028"': '"\\ud800 😀 \u2028"', '{ "\\udfff": 1 }': '{"\\udfff":1}', '[, 1]': '[null,1]',
  'new Proxy({ a: [1] }, {})': '{"a":[1]}', 'new Proxy([1, 2], {})': '[1,2]', '{ ["__proto__"]: 1, constructor: 2 }': '{"__proto__":1,"constructor":2}',
  'Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true }, hidden: { value: 3 } })': '{"own":2}', '{ toJSON: () => ({ a: 1 }) }': '{"a":1}',
  '{ toJSON: () => undefined }': 'null', '{ a: { toJSON: () => undefined } }': '{}', '{ toJSON: 5 }': '{"toJSON":5}',
  '{ k: { toJSON(key) { return key } } }': '{"k":"k"}', 'class { toJSON() { return "c" } }.prototype': '"c"',
  '(() => { const shared = { s: 1 }; return [shared, shared] })()': '[{"s":1},{"s":1}]', '{ get [Symbol.toStringTag]() { return "Map" }, a: 1 }': '{"a":1}',
  'Object.setPrototypeOf({ a: 1 }, { [Symbol.toStringTag]: "Map" })': '{"a":1}', 'Promise.resolve(7)': '7', '{ then(f) { f("thenable") } }': '"thenable"',
  'Object.assign(() => 1, { toJSON: () => 7 })': '7', 'Object.create(Object.create(null))': '{}', '{ [Symbol("s")]: 1 }': '{}', 'new (class { #hidden = 1; shown = 2 })()': '{"shown":2}',
  'new (class { #a = 1; toJSON() { return { a: this.#a } } })()': '{"a":1}', 'new (class extends Map { #n = 1 })([[1, 2]])': '[[1,2]]', 'new (class extends Array { #n = 1 })()': '[]',
  '{ error: Object.assign(new Error("m", { cause: new TypeError("c") }), { code: 7, stack: "s", request: { a: () => 1 }, run() {} }) }':
    '{"error":{"name":"Error","message":"m","code":7,"cause":{"name":"TypeError","message":"c"}}}',
  'new AggregateError([new Error("a"), "b"], "two")': '{"name":"AggregateError","message":"two","errors":[{"name":"Error","message":"a"},"b"]}',
  'new Error("m", { cause: "why" })': '{"name":"Error","message":"m","cause":"why"}', 'new Error("m", { cause: Symbol("s") })': '{"name":"Error","message":"m"}', 'new Error("m", { cause: { toString() {} } })': '{"name":"Error","message":"m"}',
  '(function () { return arguments })()': '{}', 'Object.assign(/a/, { flags2: "g" })': '{"flags2":"g"}', '[["nested"]]': '[["nested"]]', '(() => { let d = 1; for (let i = 0; i < 200; i++) d = [d]; return d })()': '['.repeat(200) + '1' + ']'.repeat(200),
};

test('every value with a JSON form has exactly this one', async () => {
  for (const [expression, want] of Object.entries(good)) {
    const reply = await result(expression);
    assert.equal(reply.json, want, `${expression}: ${reply.text}`);
  }
});

const ofClass = 'an object of a class without members of its own, which is no JSON; return a plain object, or give its class toJSON';
const bad = {
  '(function* () {})()': ['invalid', 'result: a value of the kind Generator, which is no JSON'], '{ list: (async function* () {})() }': ['invalid', 'result.list: a value of the kind AsyncGenerator, which is no JSON'],
  'new Response("{}")': ['invalid', 'result: a value of the kind Response, which is no JSON; return what it holds, such as await response.json()'],
  '[Promise.resolve(1)]': ['invalid', 'result[0]: a value of the kind Promise, which is no JSON; await it'], 'new WeakMap()': ['invalid', 'result: a value of the kind WeakMap, which is no JSON'],
  '/a/': ['invalid', 'result: a value of the kind RegExp, which is no JSON'], 'new Map().entries()': ['invalid', 'result: a value of the kind Map Iterator, which is no JSON'],
 
  'new Event("x")': ['invalid', 'result: a value of the kind Event, which is no JSON'], 'new DataView(new ArrayBuffer(1))': ['invalid', 'result: a value of the kind DataView, which is no JSON'],
  'new (class { #hidden = 1 })()': ['invalid', `result: ${ofClass}`], '{ a: [new (class Money { #v = 1; get value() { return this.#v } })()] }': ['invalid', `result.a[0]: ${ofClass}`],
  'new (class extends class { #a = 1 } { #b = 2 })()': ['invalid', `result: ${ofClass}`], 'Object.create({ inherited: 1 })': ['invalid', `result: ${ofClass}`],
  'new Proxy(new (class { #p = 1 })(), {})': ['invalid', `result: ${ofClass}`], 'Object.defineProperty(new (class { #p })(), "h", { value: 1 })': ['invalid', `result: ${ofClass}`],
  'new Proxy(new Map([[1, 2]]), {})': ['invalid', 'result: a value of the kind Map, which is no JSON'], 'new WeakSet()': ['invalid', 'result: a value of the kind WeakSet, which is no JSON'],
  'new WeakRef({})': ['invalid', 'result: a value of the kind WeakRef, which is no JSON'], 'new Intl.NumberFormat()': ['invalid', 'result: a value of the kind Intl.NumberFormat, which is no JSON'],
  'new SharedArrayBuffer(8)': ['invalid', 'result: a value of the kind SharedArrayBuffer, which is no JSON'],
  '() => 1': ['invalid', 'result: a function'], '{ a: Symbol("s") }': ['invalid', 'result.a: a symbol'], '{ a: { "b c": [1, () => 1] } }': ['invalid', 'result.a["b c"][1]: a function'],
  '(() => { const o = { items: [0, 1, {}] }; o.items[2].owner = o; return o })()': ['invalid', 'result.items[2].owner: circular reference'],
  '(() => { const m = new Map(); m.set("me", m); return { m } })()': ['invalid', 'result.m[0][1]: circular reference'],
  '{ get a() { throw new RangeError("got") } }': ['error', 'result.a: got'], '{ b: { toJSON() { throw "text" } } }': ['error', 'result.b: text'],
  'new Proxy({}, { ownKeys() { throw new Error("trap") } })': ['error', 'result: trap'],
};

test('values without a JSON form end the call with the path', async () => {
  for (const [expression, [kind, message]] of Object.entries(bad)) {
    const reply = await result(expression);
    assert.deepEqual([reply.k, reply.message, reply.len], [kind, message, 0], expression);
  }
  const deep = await result('(() => { let d = 1; for (let i = 0; i < 201; i++) d = [d]; return d })()');
  assert.equal(deep.k, 'invalid');
  assert.match(deep.message, /^result(\[0\]){200}: nested deeper than 200 levels$/);
  assert.equal((await result('(() => { const f = () => ({ get next() { return f() } }); return f() })()')).k, 'invalid');
});

test('the limit counts bytes of UTF-8, at the limit and one past it', async () => {
  for (const [expression, bytes] of [['"x".repeat(98)', 100], ['"é".repeat(49)', 100], ['"€".repeat(10)', 32], ['"😀".repeat(5)', 22], ['"\\n".repeat(5)', 12], ['"\\ud800"', 8], ['"€😀".repeat(300)', 2102], ['"x".repeat(900)', 902], ['[1,[2]]', 7], ['{é:1}', 8]]) {
    assert.equal((await result(expression, { max: bytes })).k, 'ok', expression);
    assert.equal((await result(expression, { max: bytes })).len, bytes, expression);
    const over = await result(expression, { max: bytes - 1 });
    assert.deepEqual([over.k, over.len], ['too_large', 0], expression);
  }
});

test('what is too large stops being written at once', async () => {
  page.run('var reads = 0');
  const reply = await result('new Proxy([], { get: (t, k) => (k === "length" ? 1e9 : k === "then" || typeof k === "symbol" ? undefined : (reads++, "x".repeat(100))) })', { max: 1000 });
  assert.equal(reply.k, 'too_large');
  assert.ok(page.run('reads') <= 11);
  const before = process.cpuUsage(); // not the clock: other programs keep the machine busy
  assert.equal((await result('{ a: "x".repeat(2 ** 28) }')).k, 'too_large');
  assert.equal((await result('new Float64Array(1e8)')).k, 'too_large');
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 4e6, `${(user + system) / 1e6} s of work`);
});

test('what a tool throws is told without a stack, whatever it is', async () => {
  const thrown = {
    'new TypeError("t")': ['TypeError', 't'], '"text"': [undefined, 'text'], '7': [undefined, '7'], 'undefined': [undefined, 'undefined'], 'Symbol("s")': [undefined, 'Symbol(s)'],
    '{ code: 1 }': [undefined, '{"code":1}'], '{ message: "m", name: 5 }': [undefined, 'm'], '(() => { const o = {}; o.o = o; return o })()': [undefined, 'an object that is not an Error'],
    '{ get message() { throw 1 } }': [undefined, 'an error that cannot be read'], 'new DOMException("m", "DataError")': ['DataError', 'm'], 'null': [undefined, 'null'],
    'new Error("outer", { cause: new Error("inner", { cause: "core" }) })': ['Error', 'outer; cause: inner; cause: core'],
    'new AggregateError([new Error("first"), "second", { code: 2 }], "two failed")': ['AggregateError', 'two failed; first; second; {"code":2}'],
    'new AggregateError(Array.from({ length: 20 }, (_, i) => `p${i}`), "many")': ['AggregateError', 'many; p0; p1; p2; p3; p4; p5; p6; p7; and 12 more'],
    '{ code: 7, message: "no seats left", retryAfter: 30, ok: false, seats: [1], stack: "s" }': [undefined, 'no seats left (code: 7, retryAfter: 30, ok: false)'],
    'Object.assign(new RangeError("r"), { status: 409, name: "Conflict", why: "w".repeat(300) })': ['Conflict', `r (status: 409, why: ${'w'.repeat(256)})`],
    'Object.assign(new Error("x"), { cause: Object.assign(new Error("y"), { code: "E" }) })': ['Error', 'x; cause: y (code: E)'],
    '(() => { const e = new Error("loop"); e.cause = e; return e })()': ['Error', 'loop; cause: loop; cause: loop; cause: loop; cause: loop'],
    '{ message: "m", get code() { throw 1 } }': [undefined, 'm'],
    'new RangeError("")': ['RangeError', 'RangeError'], 'new DOMException("", "NotAllowedError")': ['NotAllowedError', 'NotAllowedError'],
    'Object.assign(new Error("both"), { name: "SuppressedError", error: new Error("a"), suppressed: "b" })': ['SuppressedError', 'both; a; b'],
    'Object.assign(new Error("x".repeat(20000)), { name: "n".repeat(200) })': ['n'.repeat(128), 'x'.repeat(16384)],
  };
  for (const [expression, [name, message]] of Object.entries(thrown)) {
    for (const how of [`(() => { throw ${expression} })()`, `Promise.reject(${expression})`]) {
      const reply = await result(how);
      assert.deepEqual([reply.k, reply.ran, reply.name, reply.message], ['error', true, name, message], how);
      assert.ok(!reply.text.includes('    at '));
    }
  }
});
