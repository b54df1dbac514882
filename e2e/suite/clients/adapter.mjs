// Tools that an adapter adds to a site without any, over the TypeScript SDK: one session calls them, goes to another page, hears of its
// tools, calls those, and loads the page again.

import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { done, test } from './tap.mjs';

const { command, args, env } = JSON.parse(process.argv[2]);

let changed = Promise.withResolvers();
const client = new Client({ name: 'adapter', version: '1.0.0' }, {
  capabilities: {}, versionNegotiation: { mode: 'legacy' },
  listChanged: { tools: { autoRefresh: false, onChanged: () => changed.resolve() } },
});
await client.connect(new StdioClientTransport({ command, args, env }));

const list = async () => (await client.listTools()).tools;
const call = async (name) => {
  const { content, isError } = await client.callTool({ name, arguments: {} });
  return `${isError ? 'error: ' : ''}${content.map((block) => block.text).join('\n')}`;
};

/** Lists the tools until they are as wanted, each time that the server says that they changed. */
async function until(names) {
  for (;;) {
    const { promise } = changed;
    const tools = (await list()).map(({ name }) => name).sort();
    if (tools.join() === names) return;
    await promise;
    changed = Promise.withResolvers();
  }
}

await test('the tools are there, with their adapter', async () => {
  await until('open_cart,reload,search');
  for (const { name, _meta } of await list()) {
    const { adapter } = _meta['pagetools/tool'];
    assert.deepEqual([adapter.name, adapter.version, adapter.sha256.length], ['shop', '1.2.0', 64], name);
  }
});
await test('a tool of the first page is called', async () => assert.equal(await call('search'), 'rye, wheat'));
await test('the session follows the page to another', async () => {
  assert.doesNotMatch(await call('open_cart'), /^error/);
  await until('cart,reload');
  assert.equal(await call('cart'), 'shop /cart');
});
await test('the tools are there again after the page was loaded again', async () => {
  assert.doesNotMatch(await call('reload'), /^error/);
  await until('cart,reload');
  assert.equal(await call('cart'), 'shop /cart');
});
await client.close();
done();
