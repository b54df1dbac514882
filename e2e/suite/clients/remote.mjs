// mcp-remote, through which clients that only start programs reach a server that wants a login: the TypeScript SDK, version 1, starts it.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { connections, mangled, openBrowser, revokeAll, statusOf } from './person.mjs';
import { done, test } from './tap.mjs';

const options = JSON.parse(process.argv[2]);
const person = await openBrowser();

/** Starts mcp-remote. sent(n) is the nth address where it sent its person. */
function start() {
  const transport = new StdioClientTransport({
    command: process.execPath, args: [join(options.modules, 'mcp-remote', 'dist', 'proxy.js'), `${options.server}/mcp`, '--auth-timeout', '60'], stderr: 'pipe',
    env: { ...process.env, BROWSER: 'true', MCP_REMOTE_CONFIG_DIR: options.dir }, // a browser that opens nothing
  });
  const client = new Client({ name: 'remote', version: '1.0.0' });
  let log = '';
  const heard = new EventTarget();
  transport.stderr.on('data', (data) => { log += data; heard.dispatchEvent(new Event('data')); });
  const addresses = () => [...log.matchAll(/Please authorize this client by visiting:\s+(http\S+)\s/g)].map(([, address]) => address);
  const sent = (n) => new Promise((resolve) => {
    const look = () => { if (addresses().length >= n) resolve(addresses()[n - 1]); };
    heard.addEventListener('data', look);
    look();
  });
  /** The text of a call's result. After a revocation, one call hears that the page is gone. */
  const words = async (name) => (await client.callTool({ name, arguments: {} })).content.map(({ text }) => text).join('\n');
  return { client, sent, addresses, words, log: () => log, connected: client.connect(transport) };
}

const kept = (change) => {
  const [file] = readdirSync(options.dir, { recursive: true }).filter((name) => name.endsWith('_tokens.json')).map((name) => join(options.dir, name));
  const tokens = JSON.parse(readFileSync(file, 'utf8'));
  if (change) writeFileSync(file, JSON.stringify({ ...tokens, ...change(tokens) }));
  return tokens;
};

await test('registers itself, is let in by a person, lists and calls', async () => {
  const { client, sent, words, connected } = start();
  const address = new URL(await sent(1));
  assert.equal(address.searchParams.get('resource'), `${options.server}/mcp`);
  assert.equal(address.searchParams.get('code_challenge_method'), 'S256');
  const { asked, typed, said } = await person.in(address.href);
  assert.match(asked, /A client that calls itself “MCP CLI Proxy” asks to use the tools of this server\. Nobody has verified this name\./);
  assert.match(asked, /a program on the computer of this browser \(localhost:\d+\)/);
  assert.ok(typed, 'no code was asked for');
  assert.match(said, /Authorization successful/);
  await connected;
  assert.deepEqual((await client.listTools()).tools.map(({ name }) => name).slice(0, 3), ['pagetools_search', 'pagetools_describe', 'pagetools_call']);
  assert.equal(await words('look'), 'looked');
  assert.equal(connections().length, 1);
  await client.close();
});

await test('renews a token that does not count, without its person', async () => {
  const before = kept(({ access_token }) => ({ access_token: mangled(access_token) }));
  const { client, addresses, words, connected } = start();
  await connected;
  assert.equal(await words('look'), 'looked');
  assert.deepEqual(addresses(), []);
  const { access_token, refresh_token } = kept();
  assert.notEqual(access_token, before.access_token);
  assert.notEqual(refresh_token, before.refresh_token);
  await client.close();
});

await test('asks its person again when it is revoked', async () => {
  const { client, sent, words, log, connected } = start();
  await connected;
  assert.equal(await words('look'), 'looked');
  const { access_token } = kept();
  assert.notEqual(await statusOf(access_token), 401);
  revokeAll();
  assert.equal(await statusOf(access_token), 401);
  const call = words('look').catch((e) => {
    if (!/ENOENT.*rename.*\.tmp/.test(e.message)) throw e;
    return words('look'); // mcp-remote 0.15.1 names two files alike that it writes in one millisecond, and one of them is gone
  });
  const { typed } = await person.in(await sent(1)).catch((e) => { throw new Error(`${e}\n${log()}`); });
  assert.ok(!typed, 'the browser is not known any more');
  assert.match(await call, /^looked$|^The session is gone/);
  assert.equal(await words('look'), 'looked');
  await client.close();
});

await person.close();
done();
