// A host of MCP Apps in a page, as @mcp-ui/client makes one: AppRenderer, in React. Around the TypeScript SDK's client of version 1 it finds
// and reads the card itself; of 2026-07-28 that client knows nothing, so the host passes on what the card asks.

import { AppRenderer } from '@mcp-ui/client';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { createElement, createRef } from 'react';
import { createRoot } from 'react-dom/client';

const { server, sandbox, era } = Object.fromEntries(new URLSearchParams(location.search));
const modern = era === 'modern';
const capabilities = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
const info = { name: 'mcpui', version: '1.0.0' };
const client = modern ? new Client2(info, { versionNegotiation: { mode: { pin: '2026-07-28' } }, capabilities }) : new Client1(info, { capabilities });
const connected = client.connect(new (modern ? Transport2 : Transport1)(new URL(server)));
const told = [];
const words = ({ content }) => content.map((c) => c.text).join('');

const root = createRoot(document.body.appendChild(document.createElement('div')));
const app = createRef();
const fixed = {
  ref: app, toolName: 'add', sandbox: { url: new URL(sandbox) }, hostInfo: info,
  hostCapabilities: { serverTools: {}, openLinks: {}, message: { text: {} }, updateModelContext: { text: {} } },
  hostContext: { theme: 'light', displayMode: 'inline', availableDisplayModes: ['inline', 'fullscreen'] },
  onError: (error) => console.error(error),
  async onMessage(params) {
    told.push(`message: ${words(params)}`);
    return {};
  },
  async onFallbackRequest({ method, params }) {
    if (method !== 'ui/update-model-context') throw new Error(`Method not found: ${method}`);
    told.push(`context: ${words(params)}`);
    return {};
  },
  ...(modern ? {
    toolResourceUri: 'ui://pagetools/card', onReadResource: ({ uri }) => client.readResource({ uri }),
    onCallTool: ({ name, arguments: given }) => client.callTool({ name, arguments: given }),
  } : { client }),
};
const draw = (more) => root.render(createElement(AppRenderer, { ...fixed, ...more }));

window.chat = {
  told,
  list: async () => {
    await connected;
    return (await client.listTools()).tools;
  },
  /** calls a tool as a model does; the card gets the result. */
  async call(name, args = {}) {
    await connected;
    const toolResult = await client.callTool({ name, arguments: args });
    draw({ toolInput: args, toolResult });
    return toolResult;
  },
  async end() {
    const result = await app.current.teardownResource();
    root.unmount();
    return result;
  },
};
