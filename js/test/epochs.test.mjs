import assert from 'node:assert/strict';
import test from 'node:test';
import { name, openPage, parseReply } from '../testpage/page.mjs';

const script = `
  globalThis.ran = [];
  globalThis.finish = [];
  const tool = (name, execute) => document.modelContext.registerTool({ name, description: 'd', execute });
  tool('run', (input) => { ran.push(input.n); return input });
  tool('hang', () => new Promise((resolve) => finish.push(resolve)));
  tool('ask', (input, agent) => { ran.push('asks'); return agent.requestUserInteraction(() => new Promise(() => {})); });
  tool('fail', () => { throw new RangeError('no'); });
  tool('long', (input) => 'x'.repeat(input.n));`;

/** A page with those tools, and what its owners say. */
async function owners() {
  const page = openPage();
  page.run(script);
  const state = await page.state();
  const id = (tool) => state.tools.find((t) => t.name === tool).id;
  const as = (epoch, method, ...args) =>
    page.run(`'use strict';${name}${epoch === 0 ? '' : `.own(${epoch})`}.${method}(${args.map((a) => JSON.stringify(a)).join(',')})`);
  const call = (epoch, callID, tool, input = {}) => as(epoch, 'call', callID, id(tool), JSON.stringify(input), 1 << 20, 1e9);
  return { page, as, call };
}

test('an owner before the newest does nothing', async () => {
  const { page, as, call } = await owners();
  assert.equal(parseReply(await call(3, 'a', 'run', { n: 1 })).k, 'ok');
  const waits = call(3, 'w', 'hang');
  const asks = call(3, 'q', 'ask');
  assert.equal(parseReply(await asks).k, 'asking');
  const next = as(3, 'wait', 'q', 1e9);
  assert.equal(as(4, 'outcome', 'w'), 'running');
  // The one before, in all that it says.
  for (const [method, ...args] of [['call', 'b', 1, '{}', 1, 0], ['wait', 'q', 1]]) {
    const { k, name: why, ran } = parseReply(await as(3, method, ...args));
    assert.deepEqual([method, k, why, ran], [method, 'gone', 'epoch', false]);
  }
  for (const [method, ...args] of [['answer', 'q', true, ''], ['remind', 'q'], ['abort', 'w', 'x'], ['shutdown', 'x'], ['outcome', 'w']]) {
    assert.equal(as(3, method, ...args), 'gone', method);
  }
  assert.equal(as(3, 'watch', -1, 1e6), '');
  assert.deepEqual(page.run('[...ran]').length, 2);
  assert.equal(as(4, 'outcome', 'w'), 'running', 'it was not aborted');
  assert.equal(as(4, 'outcome', 'q'), 'running');
  // The newest can do all that.
  assert.equal(parseReply(await call(4, 'b', 'run', { n: 2 })).k, 'ok');
  assert.equal(await as(4, 'abort', 'w', 'x'), true);
  assert.equal(parseReply(await waits).k, 'aborted');
  assert.equal(await as(4, 'shutdown', 'x'), 1);
  assert.equal(parseReply(await next).k, 'aborted');
});

test('how the calls of another owner ended', async () => {
  const { page, as, call } = await owners();
  assert.equal(parseReply(await call(0, 'alone', 'run')).k, 'ok');
  as(1, 'outcome', '');
  void call(1, 'h', 'hang');
  await call(1, 'f', 'fail');
  assert.equal(as(2, 'outcome', 'h'), 'running');
  page.run('finish[0]({ done: 1 })');
  await page.state();
  assert.deepEqual(parseReply(as(2, 'outcome', 'h')).payload, { done: 1 });
  const { k, name: why, message, ran } = parseReply(as(2, 'outcome', 'f'));
  assert.deepEqual([k, why, message, ran], ['error', 'RangeError', 'no', true]);
  assert.equal(as(2, 'outcome', 'alone'), 'unknown', 'alone, nobody asks');
  // What never reached a tool has no end.
  await as(2, 'call', 'none', 999, '{}', 1, 0);
  await call(1, 'past', 'run');
  assert.equal(as(2, 'outcome', 'none'), 'unknown');
  assert.equal(as(2, 'outcome', 'past'), 'unknown');
  assert.equal(as(2, 'outcome', '__proto__'), 'unknown');
});

test('64 ends are kept, and 256 Ki characters', async () => {
  const { as, call } = await owners();
  const known = (id) => as(1, 'outcome', id) !== 'unknown';
  for (let i = 0; i <= 64; i++) await call(1, `c${i}`, 'run');
  assert.deepEqual([known('c0'), known('c1'), known('c64')], [false, true, true]);
  await call(1, 'c1', 'run'); // it is the newest now
  await call(1, 'd', 'run');
  assert.deepEqual([known('c1'), known('c2')], [true, false]);
  await call(1, 'l1', 'long', { n: 200_000 });
  assert.deepEqual([known('d'), known('l1')], [true, true]);
  await call(1, 'l2', 'long', { n: 200_000 });
  assert.deepEqual([known('d'), known('l1'), known('l2')], [false, false, true]);
  await call(1, 'l3', 'long', { n: 300_000 });
  assert.deepEqual([known('l2'), known('l3')], [false, false]);
  await call(1, 'e', 'run');
  assert.equal(known('e'), true);
});
