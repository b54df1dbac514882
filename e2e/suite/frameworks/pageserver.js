// A page with an MCP server of its own, by the SDK and MCP-B's transport: nothing of it is WebMCP.
import { TabServerTransport } from '@mcp-b/transports';
import { McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';

const server = new McpServer({ name: 'shop', version: '1.0.0' });
const packets = { tea: 3 };
server.registerTool('stock', {
  title: 'Stock', description: 'How many packets of an item there are.', inputSchema: z.object({ item: z.string() }), annotations: { readOnlyHint: true },
}, async ({ item }) => {
  if (packets[item] === undefined) return { content: [{ type: 'text', text: `There is no ${item}.` }], isError: true };
  return { content: [{ type: 'text', text: `${packets[item]} packets` }] };
});
server.registerTool('restock', { description: 'Adds the tool empty.', annotations: { readOnlyHint: true } }, async () => {
  server.registerTool('empty', { description: 'Returns nothing.', annotations: { readOnlyHint: true } }, async () => ({ content: [] }));
  return { content: [{ type: 'text', text: 'done' }] };
});
await server.connect(new TabServerTransport({ allowedOrigins: [location.origin] }));
