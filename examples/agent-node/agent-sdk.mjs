// An agent with the TypeScript SDK: it lists tools, calls them, sees that the list changes, and asks the person at the terminal
// when a call needs one.
//
// Usage: node agent-sdk.mjs URL [--yes]

import { createInterface } from 'node:readline/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, consent] = process.argv.slice(2);
if (!url) {
  console.error('usage: node agent-sdk.mjs URL [--yes]');
  process.exit(2);
}

/** Asks the person at the terminal whether a call may go on. With --yes it may. */
async function ask(question) {
  console.log(`? ${question}`);
  if (consent === '--yes') return true;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question('  yes or no: ');
  terminal.close();
  return answer.trim().toLowerCase() === 'yes';
}

/** The value that a field of a form gets: what the form proposes, or its first choice, or yes. */
const value = (field) => field.default ?? field.enum?.[0] ?? field.oneOf?.[0].const ?? (field.type === 'boolean' ? true : '');

const client = new Client({ name: 'agent-sdk', version: '1.0.0' }, {
  capabilities: { elicitation: { form: {} } },
  versionNegotiation: { mode: 'auto' }, // 2026-07-28 when the server has it
  listChanged: { tools: { autoRefresh: false, onChanged: () => console.log('! the list of tools has changed') } },
});

client.setRequestHandler('elicitation/create', async ({ params }) => {
  if (!await ask(params.message)) return { action: 'decline' };
  const fields = Object.entries(params.requestedSchema?.properties ?? {});
  return { action: 'accept', content: Object.fromEntries(fields.map(([name, field]) => [name, value(field)])) };
});

async function list() {
  const { tools } = await client.listTools();
  console.log(`tools: ${tools.map((tool) => tool.name).join(', ')}`);
}

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  const words = result.content.map((block) => block.text ?? `(${block.type})`).join('\n');
  console.log(`${name}: ${words}`);
  if (result.isError) throw new Error(`${name} failed`);
}

await client.connect(new StreamableHTTPClientTransport(new URL(url)));
try {
  await list();
  await call('add-to-cart', { product: 'rye', quantity: 2 });
  await list(); // a cart with bread in it has more tools
  await call('check-out', { name: 'Ada' }); // it has consequences: a person is asked
} finally {
  await client.close();
}
