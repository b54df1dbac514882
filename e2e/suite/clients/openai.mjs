// The MCP servers of the OpenAI Agents SDK: every revision up to 2025-11-25.

import { MCPServerStdio, MCPServerStreamableHttp } from '@openai/agents';
import { run } from './steps.mjs';

async function open({ url, command, args, env }) {
  const server = url ? new MCPServerStreamableHttp({ url, name: 'pagetools' }) : new MCPServerStdio({ command, args, env, name: 'pagetools' });
  await server.connect();
  return {
    list: () => server.listTools(),
    async call(name, args, { signal } = {}) {
      const { content, structuredContent, isError } = await server.callToolResult(name, args, null, { signal });
      return { content, structured: structuredContent, isError };
    },
    close: () => server.close(),
  };
}

await run({
  open,
  can: { changed: 'it takes no notifications', progress: 'it has no place for it', elicit: 'it declares no elicitation' },
});
