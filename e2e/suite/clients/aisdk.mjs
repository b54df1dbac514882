// The MCP client of the Vercel AI SDK: 2026-07-28 by default, older revisions when it does not look for it.

import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';
import { options, run } from './steps.mjs';

async function open({ url, command, args, env }, { onElicit }) {
  const client = await createMCPClient({
    transport: url ? { type: 'http', url } : new Experimental_StdioMCPTransport({ command, args, env }),
    protocolVersionDiscovery: options.era === 'modern',
    capabilities: onElicit ? { elicitation: {} } : {},
  });
  if (onElicit) client.onElicitationRequest(ElicitationRequestSchema, ({ params }) => onElicit(params));
  return {
    list: async () => (await client.listTools()).tools,
    async call(name, args, { signal } = {}) {
      const { content, structuredContent, isError } = await client.callTool({ name, arguments: args, options: { signal } });
      return { content, structured: structuredContent, isError };
    },
    version: client.initializeResult.protocolVersion,
    close: () => client.close(),
  };
}

await run({
  open,
  can: {
    changed: 'it takes no notifications',
    progress: 'it takes no notifications',
    ...(options.transport === 'stdio' && { cancel: 'it only drops the request, and sends nothing' }),
  },
});
