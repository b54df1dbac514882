// The TypeScript SDK, version 2, with its OAuthClientProvider.

import { Client, IssuerMismatchError, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { connected, options, run, words } from './login.mjs';
import { signIn } from './signin.mjs';

const mode = { legacy: 'legacy', modern: { pin: '2026-07-28' } }[options.era];

async function open(url, authProvider) {
  const client = new Client({ name: 'login2', version: '1.0.0' }, { versionNegotiation: { mode } });
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

await (options.codes ? signIn : run)({ open, Unauthorized: UnauthorizedError, IssuerMismatch: IssuerMismatchError });
