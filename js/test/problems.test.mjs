import assert from 'node:assert/strict';
import test from 'node:test';
import { openPage } from '../testpage/page.mjs';

// Older Nodes do not have Error.isError.
const quiet = { before: `console = { error() {} }; Error.isError ??= (e) => e instanceof Error || e instanceof DOMException;` };

test('what goes wrong is told once, in order, and announces no change of tools', async () => {
  const page = openPage(quiet);
  page.run(`var announced = 0; document.modelContext.addEventListener('toolchange', () => announced++)`);
  const next = page.evaluate('watch', 0);
  page.run(`for (let i = 0; i < 5; i++) console.error('same', 1); console.error(new RangeError('other'), {})`);
  const state = JSON.parse(await next);
  assert.deepEqual(state.problems.map((p) => [p.kind, p.message]), [['console', 'same 1'], ['console', 'RangeError: other an object']]);
  assert.equal(state.more, undefined);
  page.run(`document.modelContext.registerTool({ name: 'a b', description: 'd', execute() {} }).catch(() => {})`);
  assert.deepEqual((await page.state()).problems[2], { kind: 'registration', name: 'a b', message: 'InvalidStateError: Invalid tool name' });
  assert.equal(page.run('announced'), 0);
  page.run(`document.modelContext.registerTool({ name: 'a', description: 'd', execute() {} })`);
  await page.run('new Promise((r) => setTimeout(r))');
  assert.equal(page.run('announced'), 1);
});

test('a page that makes errors without end sends so many revisions and so much text', async () => {
  const page = openPage(quiet);
  page.run(`for (let i = 0; i < 1000; i++) console.error(i)`);
  const state = await page.state();
  assert.equal(state.problems.length, 32);
  assert.equal(state.more, true);
  assert.equal(state.rev, 33);
  const long = openPage(quiet);
  long.run(`for (let i = 0; i < 1000; i++) console.error(i + '\\u0001'.repeat(1e5))`);
  assert.ok(JSON.stringify((await long.state()).problems).length < 33 * 1024);
});

test('an object in the place of ours that writes errors is still mirrored', async () => {
  const page = openPage(quiet);
  page.run(`navigator.modelContext = { tools: [], registerTool(tool) { console.error('experimental'); this.tools.push(tool); } };
    navigator.modelContext.registerTool({ name: 'a', description: 'd', execute() {} })`);
  assert.deepEqual((await page.state()).tools.map((t) => t.name), ['a']);
});
