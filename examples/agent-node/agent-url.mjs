// A pasted URL becomes tools of the Vercel AI SDK: pagetools opens the page, and the SDK gets what the page declares.
// generateText takes these tools as they are; here they run without a model.
//
// Usage: node agent-url.mjs URL [TOOL [ARGUMENTS [--yes]]], with pagetools in the PATH

import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';

/**
 * Turns a URL into tools. What needs a person's consent comes to ask, which resolves to whether the call may go on.
 * @param {string} url
 * @param {(question: string) => Promise<boolean>} ask
 */
async function toolsOf(url, ask) {
  const page = await createMCPClient({
    transport: new Experimental_StdioMCPTransport({ command: 'pagetools', args: ['mcp', url], env: process.env }),
    capabilities: { elicitation: {} },
  });
  page.onElicitationRequest(ElicitationRequestSchema, async ({ params }) => (
    await ask(params.message) ? { action: 'accept', content: {} } : { action: 'decline' }));
  return { tools: await page.tools(), close: () => page.close() };
}

const [url, name, args = '{}', consent] = process.argv.slice(2);
if (!url) {
  console.error('usage: node agent-url.mjs URL [TOOL [ARGUMENTS [--yes]]]');
  process.exit(2);
}

/** Asks the person at the terminal. With --yes they agree. */
async function ask(question) {
  console.log(`? ${question}`);
  if (consent === '--yes') return true;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const nobody = once(terminal, 'close').then(() => 'no'); // the input has ended
  const answer = await Promise.race([terminal.question('  yes or no: '), nobody]);
  terminal.close();
  return answer.trim().toLowerCase() === 'yes';
}

const { tools, close } = await toolsOf(url, ask);
try {
  console.log(`tools: ${Object.keys(tools).join(', ')}`);
  if (name) {
    if (!Object.hasOwn(tools, name)) throw new Error(`the page offers no ${name}`);
    const { content, isError } = await tools[name].execute(JSON.parse(args), { toolCallId: 'call-1', messages: [] });
    console.log(`${name}: ${content.map((block) => block.text ?? `(${block.type})`).join('\n')}`);
    if (isError) process.exitCode = 1;
  }
} finally {
  await close();
}
