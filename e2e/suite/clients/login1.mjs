// The TypeScript SDK, version 1, with its OAuthClientProvider.

import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { connected, options, run, words } from './login.mjs';
import { signIn } from './signin.mjs';

async function open(url, authProvider) {
  const client = new Client({ name: 'login1', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  return connected(transport, async () => {
    await client.connect(transport);
    return {
      list: async () => (await client.listTools()).tools,
      call: async (name) => words(await client.callTool({ name, arguments: {} })),
      close: () => client.close(),
    };
  });
}

await (options.codes ? signIn : run)({ open, Unauthorized: UnauthorizedError });
