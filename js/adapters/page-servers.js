// ==PagetoolsAdapter==
// @name        page-servers
// @version     1.0.0
// @description Tools of MCP servers that run in the page, which speak over postMessage as MCP-B's TabServerTransport does
// @match       <all_urls>
// @run-at      document-start
// ==/PagetoolsAdapter==

const most = { channels: 4, tools: 256, message: 1024 * 1024, pages: 16 };
const patience = { answer: 10_000, call: 30_000 };

/** The servers by their channels. @type {Map<string, Server>} */
const servers = new Map();

/** Answers of ours are told from those of the page's own clients by this. */
const ours = `pagetools-${crypto.getRandomValues(new Uint32Array(2)).join('-')}-`;

/** A server of the page: one client of it. */
class Server {
  constructor(channel) {
    this.channel = channel;
    this.pending = new Map();
    this.tools = new Map(); // by name: the declaration as text, and what takes the registration back
    this.count = 0;
    this.state = 'new';
  }

  post(payload) {
    window.postMessage({ channel: this.channel, type: 'mcp', direction: 'client-to-server', payload }, location.origin);
  }

  /** Sends a request, and returns its result. What signal or time ends is cancelled at the server, too. */
  request(method, params, time, signal) {
    const id = ours + this.count++;
    return new Promise((resolve, reject) => {
      const settle = (end, value) => {
        if (!this.pending.delete(id)) return;
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        end(value);
      };
      const cancel = (error) => {
        if (this.pending.has(id) && method !== 'initialize') {
          this.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason: error.message } });
        }
        settle(reject, error);
      };
      const abort = () => cancel(signal.reason instanceof Error ? signal.reason : new Error('The call was cancelled.'));
      const timer = setTimeout(() => cancel(new Error(`The MCP server of the page did not answer within ${time / 1000} s.`)), time);
      this.pending.set(id, { resolve: (value) => settle(resolve, value), reject: (error) => settle(reject, error) });
      signal?.addEventListener('abort', abort, { once: true });
      if (signal?.aborted) abort();
      else this.post({ jsonrpc: '2.0', id, method, params });
    });
  }

  /** Takes a message of the server: an answer to a request of ours, or the news that its list changed. */
  receive(message) {
    if (typeof message !== 'object' || message === null) return;
    if (message.method === 'notifications/tools/list_changed') {
      if (this.state === 'ready') this.list();
      return;
    }
    const waiting = this.pending.get(message.id);
    if (waiting === undefined || message.method !== undefined) return;
    if (JSON.stringify(message).length > most.message) waiting.reject(new Error('The MCP server of the page sent more than 1 MiB.'));
    else if (message.error !== undefined) waiting.reject(new Error(String(message.error?.message ?? 'The MCP server of the page refused it.')));
    else waiting.resolve(message.result);
  }

  /** The server said that it is there: it does so for each client of the page, too. */
  async ready() {
    if (this.state !== 'new') return;
    this.state = 'connecting';
    try {
      await this.request('initialize', {
        protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'pagetools', version: '1.0.0' },
      }, patience.answer);
      this.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
      this.state = 'ready';
      await this.list();
    } catch {
      if (this.state === 'connecting') this.state = 'new'; // until it says again that it is there
    }
  }

  stop() {
    this.state = 'new';
    for (const { reject } of [...this.pending.values()]) reject(new Error('The MCP server of the page stopped.'));
    this.show([]);
  }

  /** Reads the list, once more where it changed meanwhile. */
  async list() {
    this.wanted = true;
    if (this.listing) return;
    this.listing = true;
    try {
      while (this.wanted && this.state === 'ready') {
        this.wanted = false;
        const all = [];
        let cursor;
        for (let page = 0; page < most.pages; page++) {
          const { tools, nextCursor } = await this.request('tools/list', cursor === undefined ? {} : { cursor }, patience.answer);
          all.push(...tools);
          if (typeof nextCursor !== 'string' || all.length >= most.tools) break;
          cursor = nextCursor;
        }
        this.show(all);
      }
    } catch {
      // the list before stays
    } finally {
      this.listing = false;
    }
  }

  /** Registers what is new, and takes back what is gone or other than before. A name that the page has itself is left to it. */
  show(all) {
    const now = new Map();
    for (const tool of all) {
      const text = typeof tool?.name === 'string' ? JSON.stringify(tool) : '';
      if (text !== '' && text.length <= most.message && !now.has(tool.name)) now.set(tool.name, { tool, text });
    }
    for (const [name, { text, gone }] of this.tools) {
      if (now.get(name)?.text === text) continue;
      gone.abort();
      this.tools.delete(name);
    }
    let room = most.tools;
    for (const server of servers.values()) room -= server.tools.size;
    for (const [name, { tool, text }] of now) {
      if (this.tools.has(name)) continue;
      if (room-- <= 0) break;
      const gone = new AbortController();
      this.tools.set(name, { text, gone });
      this.register(tool, gone.signal);
    }
  }

  register({ name, title, description, inputSchema, outputSchema, annotations }, signal) {
    const refused = () => {}; // the page has the name, or nobody may have it, which is a finding
    modelContext.registerTool({
      name, title, description: description || title || annotations?.title || name, inputSchema, outputSchema, annotations,
      execute: (input, context) => this.request('tools/call', { name, arguments: input }, patience.call, context?.signal),
    }, { signal }).catch(refused);
  }
}

addEventListener('message', (event) => {
  const { data } = event;
  if (event.source !== window || event.origin !== location.origin || data?.type !== 'mcp' || data.direction !== 'server-to-client') return;
  if (typeof data.channel !== 'string' || data.channel.length > 256) return;
  let server = servers.get(data.channel);
  if (data.payload === 'mcp-server-ready') {
    if (server === undefined && servers.size >= most.channels) return;
    servers.set(data.channel, server ??= new Server(data.channel));
    server.ready();
  } else if (data.payload === 'mcp-server-stopped') server?.stop();
  else server?.receive(data.payload);
}, true);
