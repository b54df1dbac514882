// @ts-check
import assert from 'node:assert/strict';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { canonical, hmac, proof, sha256 } from '../src/card/proof.js';

const hex = (/** @type {Uint8Array} */ b) => Buffer.from(b).toString('hex');

test('digests are those of SHA-256 and HMAC', () => {
  for (const size of [0, 1, 3, 55, 56, 63, 64, 65, 119, 120, 1000, 70_000]) {
    const bytes = randomBytes(size), key = randomBytes(32);
    assert.equal(hex(sha256(bytes)), createHash('sha256').update(bytes).digest('hex'), `${size} bytes`);
    assert.equal(hex(hmac(key, bytes)), createHmac('sha256', key).update(bytes).digest('hex'), `${size} bytes`);
  }
});

test('a proof is of the ticket, the op and the canonical rest', () => {
  const key = randomBytes(32);
  const rest = { ok: true, value: 'Zoë "<"\n\u2028' };
  const want = createHmac('sha256', key).update('t\nanswer\n{"ok":true,"value":"Zoë \\"<\\"\\n\u2028"}').digest('base64url');
  assert.equal(proof(key.toString('base64url'), 't', 'answer', rest), want);
  assert.notEqual(proof(key.toString('base64url'), 't', 'answer', { ...rest, ok: false }), want);
});

test('JSON is canonical: RFC 8785', () => {
  assert.equal(canonical({ b: [1, 10.5, -0, 1e21, 1e-7], a: { '\u20ac': null, '\r': 'x', 1: true }, c: undefined }),
    '{"a":{"\\r":"x","1":true,"€":null},"b":[1,10.5,0,1e+21,1e-7]}');
});

test('the page is small, needs nothing, and puts no text of others into markup', () => {
  const page = readFileSync(new URL('../dist/card.html', import.meta.url), 'utf8');
  assert.ok(page.length <= 40 * 1024, `${page.length} bytes`);
  for (const bad of ['http:', 'https:', 'src=', 'href=', '@import', 'url(', 'innerHTML', 'insertAdjacent', 'document.write', 'eval(', 'new Function', 'localStorage', 'fetch(', 'XMLHttpRequest', 'WebSocket(']) {
    assert.ok(!page.includes(bad), `it has ${bad}`);
  }
  assert.equal(page.match(/<script/g)?.length, 1);
  assert.equal(page.match(/<\/script/g)?.length, 1);
});
