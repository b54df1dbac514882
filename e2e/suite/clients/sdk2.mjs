// The TypeScript SDK, version 2: the older revisions by default, 2026-07-28 when it is told to.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { options, run } from './steps.mjs';

const mode = { legacy: 'legacy', modern: { pin: '2026-07-28' }, auto: 'auto' }[options.era];

async function open({ url, command, args, env }, { onElicit, onChanged }) {
  const client = new Client({ name: 'sdk2', version: '1.0.0' }, {
    capabilities: onElicit ? { elicitation: { form: {}, url: {} } } : {},
    versionNegotiation: { mode },
    listChanged: onChanged && { tools: { autoRefresh: false, onChanged } },
  });
  if (onElicit) client.setRequestHandler('elicitation/create', ({ params }) => onElicit(params));
  await client.connect(url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args, env }));
  return {
    list: async () => (await client.listTools()).tools,
    async call(name, args, { signal, onProgress } = {}) {
      const { content, structuredContent, isError } = await client.callTool({ name, arguments: args }, { signal, onprogress: onProgress });
      return { content, structured: structuredContent, isError };
    },
    version: client.getNegotiatedProtocolVersion(),
    read: async (uri) => (await client.readResource({ uri })).contents,
    close: () => client.close(),
  };
}

await run({ can: {}, open });
