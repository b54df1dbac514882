// The TypeScript SDK, version 1: every revision up to 2025-11-25.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { run } from './steps.mjs';

async function open({ url, command, args, env }, { onElicit, onChanged }) {
  const capabilities = onElicit ? { elicitation: { form: {}, url: {} } } : {};
  const client = new Client({ name: 'sdk1', version: '1.0.0' }, { capabilities });
  if (onElicit) client.setRequestHandler(ElicitRequestSchema, ({ params }) => onElicit(params));
  if (onChanged) client.setNotificationHandler(ToolListChangedNotificationSchema, onChanged);
  const transport = url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args, env });
  await client.connect(transport);
  return {
    list: async () => (await client.listTools()).tools,
    async call(name, args, { signal, onProgress } = {}) {
      const { content, structuredContent, isError } = await client.callTool({ name, arguments: args }, undefined, { signal, onprogress: onProgress });
      return { content, structured: structuredContent, isError };
    },
    version: transport.protocolVersion, // of HTTP only
    read: async (uri) => (await client.readResource({ uri })).contents,
    close: () => client.close(),
  };
}

await run({ can: {}, open });
