// @ts-check
import assert from 'node:assert/strict';
import test from 'node:test';

import { parseExactly, visible } from '../src/console/text.js';

test('what nobody sees is shown, and the rest is as it is', () => {
  assert.equal(visible('Buy \u202etea\u200b\u0007 now\u{e0041}\ud800 x\ufe0f!'), 'Buy \\u{202e}tea\\u{200b}\\u{7} now\\u{e0041}\\u{d800} x\\u{fe0f}!');
  const plain = 'Grüße, 日本 😀 👍🏽 ❤\ufe0f\nعربى';
  assert.equal(visible(plain), plain);
});

test('numbers stay as they are written', { skip: !('rawJSON' in JSON) && 'this Node cannot keep them' }, () => {
  const text = '{"a":9007199254740993,"b":[1.0,-0,1e400],"c":"x","d":{"e":null}}';
  assert.equal(JSON.stringify(parseExactly(text)), text);
  assert.notEqual(JSON.stringify(JSON.parse(text)), text);
});
