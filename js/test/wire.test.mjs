import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import test from 'node:test';
import vm from 'node:vm';
import { name as pageName, openPage, parseReply } from '../testpage/page.mjs';

const wire = new URL('../../shim/testdata/wire/', import.meta.url);
const read = (name) => JSON.parse(readFileSync(new URL(name, wire), 'utf8'));

const script = `
  document.modelContext.registerTool({ name: 'echo', title: 'Écho', description: 'says\\nit \\u{1f600} again \\ud800', inputSchema: { type: 'object', properties: { 'é': {} } },
    outputSchema: true ? { type: 'object' } : null, annotations: { readOnlyHint: true, destructiveHint: false, title: 'T' }, execute: (input) => input });
  const tool = (name, execute) => document.modelContext.registerTool({ name, description: 'd', execute });
  tool('fails', () => { throw new RangeError('no\\n"quotes" é \\u2028') });
  tool('text', async () => { throw 'only text' });
  tool('cycle', () => { const o = { items: [] }; o.items[0] = o; return o });
  tool('grow', () => { tool('grown', () => 1); return ['é', 2n] });
  tool('hang', () => new Promise(() => {}));
  document.modelContext.registerTool({ name: 'huge', description: 'x'.repeat(20000), execute() {} });`;

/** Every kind of reply, from a page, as [name, text]. */
async function replies() {
  const page = openPage({ manifest: JSON.stringify({ tools: [{ name: 'bare', description: 'from the manifest' }, { name: 'b d', description: 'd' }] }) });
  page.run(script);
  await page.run('new Promise((r) => setTimeout(r, 20))');
  const texts = [];
  const add = async (name, tool, input, options) => texts.push([name, (await page.call(tool, input, options)).text]);
  await add('ok', 'echo', { 'é': ['😀', null, 1.5] });
  await add('ok with state', 'grow', {}, { known: 0 });
  await add('error', 'fails');
  await add('error, not an Error', 'text');
  await add('invalid', 'cycle');
  await add('too large', 'echo', { long: 'x'.repeat(100) }, { max: 50 });
  await add('gone', 'nobody');
  await add('unhandled', 'bare');
  const hanging = page.call('hang', {}, { id: 'h' });
  await page.state();
  page.evaluate('abort', 'h', 'the deadline');
  texts.push(['aborted', (await hanging).text]);
  page.run(`tool('yields', async function* () { yield { message: 'é 😀', progress: 0.5, total: 2 }; yield '\\ud800'; throw new Error('broke') })`);
  await add('parts', 'yields', {}, { id: 'y' });
  texts.push(['error, with a part that was not told', await page.evaluate('wait', 'y', 1e9)]);
  page.evaluate('own', 7);
  texts.push(['gone, because the page has another owner', page.run(`${pageName}.own(6).call('old', 1, '{}', 1, 0)`)]);
  return texts;
}

/** What the Go decoder must make of a reply text. */
function decoded(text) {
  const { k, rev, ran, name = '', message = '', payload, state, parts, last } = parseReply(text);
  return { kind: k, rev, ran, name, message, payload, state, parts, last };
}

test('replies.json is what the shim says', async () => {
  const got = (await replies()).map(([name, text]) => ({ name, text, decoded: decoded(text) }));
  if (process.env.UPDATE) writeFileSync(new URL('replies.json', wire), `${JSON.stringify(got, null, 1)}\n`);
  assert.deepEqual(JSON.parse(JSON.stringify(got)), read('replies.json'));
});

test('expressions.json calls the shim with the arguments that Go meant', () => {
  for (const { expression, method, args, epoch = 0 } of read('expressions.json')) {
    const seen = [];
    let owner = 0;
    const fake = new Proxy({}, {
      get: (_, name) => (...given) => {
        if (name !== 'own') return seen.push([name, given]);
        [owner] = given;
        return fake;
      },
    });
    const name = /^'use strict';(_[0-9a-f]{32})\./.exec(expression)[1];
    vm.runInNewContext(expression, { [name]: fake });
    assert.deepEqual([JSON.parse(JSON.stringify(seen)), owner], [[[method, args]], epoch]);
  }
});
