// The TypeScript SDK's stdio client: starts a server, lists its tools, and calls one of them.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'release-test', version: '1.0.0' }, { capabilities: {} });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' }));
const { tools } = await client.listTools();
const { content } = await client.callTool({ name: 'greet', arguments: { name: 'Ada' } });
await client.close();
console.log(JSON.stringify({ server: client.getServerVersion().version, tools: tools.map((t) => t.name), said: content[0].text }));
