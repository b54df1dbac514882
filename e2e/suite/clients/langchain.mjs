// The MCP adapters of LangChain.js: every revision up to 2025-11-25.

import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { run } from './steps.mjs';

async function open({ url, command, args, env }, { onChanged }) {
  let progress = null;
  const adapters = new MultiServerMCPClient({
    mcpServers: { page: url ? { transport: 'http', url } : { transport: 'stdio', command, args, env } },
    onProgress: (report) => progress?.(report),
    onToolsListChanged: () => onChanged?.(),
    outputHandling: 'content',
    throwOnLoadError: true,
    useStandardContentBlocks: false,
  });
  // getTools reads the list once; getClient returns the client that it reads with.
  const tools = new Map((await adapters.getTools()).map((tool) => [tool.name, tool]));
  const client = await adapters.getClient('page');
  return {
    list: async () => (await client.listTools()).tools,
    async call(name, args, { signal, onProgress } = {}) {
      const tool = tools.get(name);
      if (!tool) {
        const { content, structuredContent, isError } = await client.callTool({ name, arguments: args }, undefined, { signal });
        return { content, structured: structuredContent, isError };
      }
      progress = onProgress;
      try {
        const said = await tool.invoke(args, { signal });
        return { content: blocks(said) };
      } catch (error) {
        return { isError: true, content: [{ type: 'text', text: error.message }] };
      } finally {
        progress = null;
      }
    },
    close: () => adapters.close(),
  };
}

/** A model's blocks as those of MCP. One text is a string, or an object when there is structured content beside it. */
function blocks(said) {
  if (typeof said === 'string') return [{ type: 'text', text: said }];
  return [said].flat().map((block) => {
    const data = /^data:([^;]+);base64,(.*)$/.exec(block.image_url?.url ?? '');
    return data ? { type: 'image', mimeType: data[1], data: data[2] } : block;
  });
}

await run({ open, can: { elicit: 'it declares no elicitation' } });
