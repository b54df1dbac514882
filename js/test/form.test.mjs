// @ts-check
import assert from 'node:assert/strict';
import test from 'node:test';

import { fault, literal, bad, parse, print, printItem, put, same, spelled, tidy } from '../src/console/form/json.js';
import { isSecretName } from '../src/console/form/secret.js';

test('JSON text prints as it was read', () => {
  for (const text of ['{ "a" : 1.10 , "b":[ ] ,"c":{ \n} }', '[1,2 ,3]\n', ' null ', '{"__proto__":9007199254740993,"a.b":"\\u0041\\r\\n","":-0,"10":1e400,"2":[]}', '"\\ud83d\\ude00"']) {
    assert.equal(printItem(parse(text)), text);
  }
});

test('what is not JSON is refused, with its place', () => {
  const faults = { '{"a":1,"a":2}': /column 8: this name is there twice/, '[1,]': /column 4/, '01': /column 1/, '1.': /column 1/, nul: /column 1/, '{"a" 1}': /column 6: expected ":"/, '"\n"': /escaped/, '"a': /no end/,
    '': /the text ends/, '[1] 2': /behind the value/, '-': /column 1/, '{\n  "a": tru\n}': /Line 2, column 8/, '"\\x"': /escape/, '+1': /column 1/, '\ufeff1': /column 1/, [`${'['.repeat(202)}${']'.repeat(202)}`]: /deeper than 200/ };
  for (const [text, why] of Object.entries(faults)) assert.throws(() => parse(text), (e) => e instanceof SyntaxError && why.test(e.message), text);
  assert.ok(parse(`${'['.repeat(200)}${']'.repeat(200)}`));
});

test('an edit changes its place alone, and members come in their order', () => {
  const doc = parse('{\n  "a": 1,\n  "c": {"d":[1, 2]}\n}');
  const set = (/** @type {(string | number)[]} */ path, /** @type {string | undefined} */ text, /** @type {string[]} */ order = []) => printItem(put(doc, path, text === undefined ? undefined : literal(text), order));
  assert.equal(set(['b'], '5', ['a', 'b', 'c']), '{\n  "a": 1,\n  "b": 5,\n  "c": {"d":[1, 2]}\n}');
  assert.equal(set(['z'], '5'), '{\n  "a": 1,\n  "c": {"d":[1, 2]},\n  "z": 5\n}');
  assert.equal(set(['c'], undefined), '{\n  "a": 1\n}');
  assert.equal(set(['a'], undefined), '{\n  "c": {"d":[1, 2]}\n}');
  assert.equal(set(['c', 'd', 1], '3.0'), '{\n  "a": 1,\n  "c": {"d":[1, 3.0]}\n}');
  assert.equal(set(['c', 'd', 2], '3'), '{\n  "a": 1,\n  "c": {"d":[1, 2, 3]}\n}');
  assert.equal(set(['c', 'd', 0], undefined), '{\n  "a": 1,\n  "c": {"d":[2]}\n}');
  const back = put(put(doc, ['a'], undefined), ['a'], literal('1'), ['a', 'c']);
  assert.equal(print(spelled(back.node, doc.node)), print(doc.node));
});

test('what is not a value is found, and values are compared as values', () => {
  assert.deepEqual(fault(put(parse('{"a/b":[1]}'), ['a/b', 0], bad('x', 'no')).node), { problem: 'no', pointer: '/a~1b/0' });
  const equal = (/** @type {string} */ a, /** @type {string} */ b) => same(parse(a).node, parse(b).node);
  for (const [a, b] of [['1.0', '10e-1'], ['-0', '0.00'], ['{"a":1,"b":"x"}', '{"b":"\\u0078","a":1e0}'], ['1e999999999', '10e999999998']]) assert.ok(equal(a, b), `${a} is ${b}`);
  for (const [a, b] of [['9007199254740993', '9007199254740992'], ['"1"', '1'], ['[1,2]', '[2,1]'], ['{"a":null}', '{}'], ['true', '1']]) assert.ok(!equal(a, b), `${a} is not ${b}`);
  assert.equal(printItem(tidy(parse('{"a":[1.10,{"b":[ ]}],"c":{}}'))), '{\n  "a": [\n    1.10,\n    {\n      "b": []\n    }\n  ],\n  "c": {}\n}');
  assert.ok(isSecretName('userPassword') && !isSecretName('name'));
});
