// A host of MCP Apps in a page, as the SDK of MCP Apps makes one: AppBridge, around the TypeScript SDK's client.

import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const { server, sandbox, era } = Object.fromEntries(new URLSearchParams(location.search));
const mode = { legacy: 'legacy', modern: { pin: '2026-07-28' } }[era];
const capabilities = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
const newClient = () => new Client({ name: 'apps', version: '1.0.0' }, { versionNegotiation: { mode }, capabilities });
const client = newClient();
const told = [];

async function open() {
  await client.connect(new StreamableHTTPClientTransport(new URL(server)));
  const { contents } = await client.readResource({ uri: 'ui://pagetools/card' });
  const frame = document.createElement('iframe');
  frame.style = 'width: 100%; height: 20px; border: 0';
  frame.sandbox = 'allow-scripts allow-same-origin';
  document.body.append(frame);
  const bridge = new AppBridge(client, { name: 'apps', version: '1.0.0' }, { serverTools: {}, openLinks: {}, message: { text: {} }, updateModelContext: { text: {} } }, {
    hostContext: { theme: 'light', displayMode: 'inline', availableDisplayModes: ['inline', 'fullscreen'] },
  });
  const words = ({ content }) => content.map((c) => c.text).join('');
  bridge.onsandboxready = () => bridge.sendSandboxResourceReady({ html: contents[0].text });
  bridge.onsizechange = ({ height }) => { frame.style.height = `${height}px`; };
  bridge.onmessage = async (params) => {
    told.push(`message: ${words(params)}`);
    return {};
  };
  bridge.onupdatemodelcontext = async (params) => {
    told.push(`context: ${words(params)}`);
    return {};
  };
  const ready = new Promise((resolve) => { bridge.oninitialized = resolve; });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = sandbox;
  await ready;
  return { bridge, app: bridge.getAppVersion(), can: bridge.getAppCapabilities() };
}

const opened = open();
window.chat = {
  told,
  app: async () => { const { app, can } = await opened; return { app, can }; },
  list: async () => (await client.listTools()).tools,
  /** calls a tool as a model does; the card gets the result. */
  async call(name, args = {}) {
    const { bridge } = await opened;
    const result = await client.callTool({ name, arguments: args });
    await bridge.sendToolInput({ arguments: args });
    await bridge.sendToolResult(result);
    return result;
  },
  /** calls a tool of another site, whose parts heard gets as they come, and returns its result. */
  async parts(url, name, args, heard) {
    const other = newClient();
    await other.connect(new StreamableHTTPClientTransport(new URL(url)));
    const result = await other.callTool({ name, arguments: args }, { onprogress: heard });
    await other.close();
    return result;
  },
  async end() {
    const { bridge } = await opened;
    return bridge.teardownResource({});
  },
};
