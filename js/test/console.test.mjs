// @ts-check
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { known } from '../src/console/words.js';
import { parseExactly, visible } from '../src/console/text.js';
import { score } from '../src/console/ui/fuzzy.js';
import { snippets } from '../src/console/snippets.js';

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

test('a person sees what is asked of an API, and what it costs', () => {
  const question = { id: '1', kind: 'approve', title: '', detail: '', tool: 'save', input: {}, origin: 'https://api.example', expiresAt: '2026-11-24T12:00:00Z',
    site: 'recipes', caller: 'local', since: '', always: false, picture: false };
  const asked = { api: 'Recipes', method: 'POST', url: 'https://api.example/recipes', cost: 'credits' };
  const rows = known({ ...question, operation: asked }).map(([name, value]) => `${name}: ${value}`);
  for (const row of ['The site calls itself: Recipes', 'Request: POST https://api.example/recipes', 'The API says that a call costs: credits', 'Tool: save']) {
    assert.ok(rows.includes(row), `${row} is not among ${rows}`);
  }
  const page = known(question);
  assert.ok(page.every(([name]) => !['The site calls itself', 'Request', 'The API says that a call costs'].includes(name)), `${page}`);
});

test('a name is found by letters of it, best where they begin words or stand together', () => {
  const order = (wanted) => ['find-orders', 'add-item', 'edit-invoice', 'adjust-image-tint'].map((name) => [score(name, wanted), name]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0]).map(([, name]) => name);
  assert.deepEqual(order('add'), ['add-item']);
  assert.equal(order('ai')[0], 'add-item');
  assert.deepEqual(order('zz'), []);
  assert.equal(score('\u{1f600} smile', '\u{1f600}sm') > 0, true);
});

test('what is copied says what it rounds, and only then', () => {
  const called = { endpoint: 'http://127.0.0.1:7300', token: false, site: 'a b', tool: 'it\'s', input: '{"n":9007199254740993}' };
  assert.match(snippets['AI SDK'](called), /rounds long numbers/);
  assert.doesNotMatch(snippets['AI SDK']({ ...called, input: '{"n":1.5,"id":"9007199254740993"}' }), /rounds/);
  assert.match(snippets.curl(called), /webtools\/a%20b'/);
  for (const make of Object.values(snippets)) assert.doesNotMatch(make(called), /PAGETOOLS_TOKEN/);
});

test('colors have the contrast that the page promises', () => {
  const css = readFileSync(new URL('../src/console/console.css', import.meta.url), 'utf8');
  const luminance = (/** @type {string} */ color) => {
    const parts = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  for (const scheme of [1, 2]) {
    const color = (/** @type {string} */ name) => luminance(/** @type {RegExpExecArray} */ (new RegExp(`--${name}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\)`).exec(css))[scheme]);
    const ratio = (/** @type {string} */ a, /** @type {string} */ b) => (Math.max(color(a), color(b)) + 0.05) / (Math.min(color(a), color(b)) + 0.05);
    for (const ground of ['bg', 'surface']) {
      for (const text of ['text', 'muted', 'accent', 'ok', 'warn', 'danger', 'said']) assert.ok(Math.round(10 * ratio(text, ground)) >= 61, `${text} on ${ground}: ${ratio(text, ground)}`);
      assert.ok(ratio('line', ground) >= 3, `lines on ${ground}: ${ratio('line', ground)}`);
    }
    assert.ok(ratio('on-accent', 'accent') >= 6.1, 'what is on the accent');
  }
});

test('the scripts of the page name no foreign host', () => {
  for (const name of ['main', 'chunk', 'rest']) {
    const script = readFileSync(new URL(`../dist/console/${name}.js`, import.meta.url), 'utf8');
    for (const [, host] of script.matchAll(/https?:\/\/([\w.-]+)/g)) assert.match(host, /^(www\.w3\.org|json-schema\.org|shop\.example|github\.com)$/, `${name}.js names ${host}`);
  }
});
