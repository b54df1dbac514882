// The client of the extension of tasks, over the TypeScript SDK, version 2: a call that takes long becomes a task.

import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient, TaskCancelledError, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { accept, options, site, words } from './steps.mjs';
import { done, test } from './tap.mjs';

const version = '2026-07-28';
const clientInfo = { name: 'tasks', version: '1.0.0' };

/** Sends a request as a host does for requests that the SDK's codecs do not know. */
async function rawDispatch(request, { signal } = {}) {
  const name = request.params.taskId ?? request.params.name;
  const response = await fetch(options.server.url, {
    method: 'POST', signal, body: JSON.stringify({ jsonrpc: '2.0', id: crypto.randomUUID(), ...request }),
    headers: {
      'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': version, 'Mcp-Method': request.method, 'Mcp-Name': name,
    },
  });
  const text = await response.text();
  const messages = response.headers.get('content-type').startsWith('text/event-stream')
    ? [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data)) : [JSON.parse(text)];
  const { result, error } = messages.at(-1);
  return error ? { kind: 'error', error } : { kind: 'result', result };
}

/** Connects for a test. onElicit is the person; without one, the client cannot ask. */
async function open(onElicit) {
  const client = new Client(clientInfo, { versionNegotiation: { mode: { pin: version } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(options.server.url)));
  const session = createTaskSessionFromClient(client, {
    endpointId: 'tests', rawDispatch,
    v2RequestFraming: { protocolVersion: version, clientInfo, clientCapabilities: onElicit ? { elicitation: { form: {} } } : {} },
    ...(onElicit && { onInputRequest: async ({ params }) => onElicit(params) }),
  });
  return { session, close: async () => { await session.close(); await client.close(); } };
}

/** Calls a tool that waits, and lets it go on when it has become a task. */
async function taken(session, tool, id) {
  const execution = await session.callTool(tool, { id });
  assert.equal(execution.kind, 'task');
  assert.equal((await session.task(execution.handle.taskId).snapshot()).status, 'working');
  return execution;
}

await test('a quick call is answered, at once or where this machine is slow', async () => {
  const { session, close } = await open();
  const { outcome } = await (await session.callTool('echo', { text: 'here' })).settle();
  assert.deepEqual(resultFromTaskOutcome(outcome).structuredContent, { text: 'here' });
  await close();
});

await test('a call that is refused before it runs is answered at once', async () => {
  const { session, close } = await open();
  const execution = await session.callTool('echo', { count: 'three' });
  assert.equal(execution.kind, 'immediate');
  const { outcome } = await execution.settle();
  assert.match(words(outcome.result), /count/);
  await close();
});

await test('a slow call becomes a task, and completes', async () => {
  const { session, close } = await open();
  const execution = await taken(session, 'hold', 'task-slow');
  await site('/release', 'task-slow');
  const { outcome, lastTask } = await execution.settle();
  assert.equal(words(resultFromTaskOutcome(outcome)), 'released');
  assert.equal(lastTask.status, 'completed');
  await close();
});

await test('a task of another session of the same caller goes on from its reference', async () => {
  const first = await open();
  const execution = await taken(first.session, 'hold', 'task-handoff');
  let reference;
  await execution.handoff((found) => { reference = JSON.parse(JSON.stringify(found)); });
  const { session, close } = await open();
  const resumed = await session.resumeTask(reference);
  await site('/release', 'task-handoff');
  assert.equal(words(resultFromTaskOutcome((await resumed.settle()).outcome)), 'released');
  await close();
  await first.close(); // last: it cancels what it handed off
});

for (const [answer, want] of [['accept', 'reserved task-accept'], ['decline', 'nobody wants it']]) {
  await test(`a task asks in its middle, and the person answers ${answer}`, async () => {
    const asked = [];
    const { session, close } = await open((params) => {
      asked.push(params.message);
      return answer === 'accept' ? accept(params) : { action: answer };
    });
    const id = `task-${answer}`;
    const execution = await taken(session, 'reserve', id);
    await site('/release', id);
    const { outcome } = await execution.settle();
    assert.equal(outcome.status, 'completed');
    assert.match(words(outcome.result), new RegExp(want));
    assert.equal(outcome.result.isError ?? false, answer === 'decline');
    assert.equal(asked.length, 1);
    assert.match(asked[0], new RegExp(`Reserve ${id}\\?`));
    await close();
  });
}

await test('a task that is cancelled is aborted in the page', async () => {
  const { session, close } = await open();
  const execution = await taken(session, 'hold', 'task-cancel');
  await execution.cancel();
  await site('/left', 'task-cancel');
  const { outcome } = await execution.settle();
  assert.equal(outcome.status, 'cancelled');
  assert.throws(() => resultFromTaskOutcome(outcome), TaskCancelledError);
  await close();
});

await test('a task that never was is not known', async () => {
  const { session, close } = await open();
  await assert.rejects(session.task('never-was').snapshot(), (error) => error.code === -32602);
  await close();
});

done();
