// A host of MCP Apps, as small as it can be: it calls a tool, and shows the card in a sandbox of another origin. What it lets a test do
// is in window.host.

const query = new URLSearchParams(location.search);
const at = query.get('mcp');
const modern = query.get('modern') === 'true';
const sandbox = query.get('sandbox');
const refuses = query.get('refuses') === 'true'; // messages to the model
const capabilities = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
const version = modern ? '2026-07-28' : '2025-11-25';
let session = '';
let last = 0;

/** rpc sends a request to the server. */
async function rpc(method, params) {
  const id = ++last;
  const headers = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' };
  if (modern) {
    params = { ...params, _meta: { 'io.modelcontextprotocol/protocolVersion': version, 'io.modelcontextprotocol/clientCapabilities': capabilities } };
    Object.assign(headers, { 'Mcp-Method': method });
    if (params.name ?? params.uri) headers['Mcp-Name'] = params.name ?? params.uri;
  }
  if (modern || session) headers['MCP-Protocol-Version'] = version;
  if (session) headers['Mcp-Session-Id'] = session;
  const r = await fetch(at, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id, method, params }) });
  session = r.headers.get('Mcp-Session-Id') ?? session;
  const text = await r.text();
  const reply = JSON.parse(text.startsWith('event:') ? text.split('\n').filter((l) => l.startsWith('data: ')).at(-1).slice(6) : text);
  if (reply.error) throw new Error(reply.error.message);
  return reply.result;
}

const frame = document.createElement('iframe');
const heard = []; // what the card sent, without its calls of tools
const told = []; // what the model would read
const ops = []; // what the card asked of pagetools
const open = new Map(); // what was asked of the frame
const post = (message) => frame.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, new URL(sandbox).origin);
const context = { theme: query.get('theme') ?? 'light', styles: { variables: {} }, displayMode: 'inline', containerDimensions: { maxHeight: 5000 } };
const opened = Promise.withResolvers();

/** answers are what the card may ask of a host. */
const answers = {
  'ui/initialize': () => ({ protocolVersion: '2026-01-26', hostInfo: { name: 'test', version: '1' }, hostCapabilities: { serverTools: {}, openLinks: {} }, hostContext: context }),
  'ui/update-model-context': refusing,
  'ui/message': refusing,
  'ui/open-link': ({ url }) => { told.push(`opens ${url}`); return {}; },
  'tools/call': ({ name, arguments: given }) => {
    if (name !== 'pagetools_card') throw new Error('The card calls another tool.');
    ops.push(given.op);
    return rpc('tools/call', { name, arguments: given });
  },
};

function refusing({ content }) {
  if (refuses) throw new Error('no');
  told.push(content.map((c) => c.text).join(''));
  return {};
}

window.addEventListener('message', async ({ source, data }) => {
  if (source !== frame.contentWindow || data?.jsonrpc !== '2.0') return;
  if (data.method === 'ui/notifications/sandbox-proxy-ready') {
    post({ method: 'ui/notifications/sandbox-resource-ready', params: { html: window.page } });
  } else if (data.method === undefined) {
    open.get(data.id)?.(data.result);
    open.delete(data.id);
  } else if (data.id === undefined) {
    heard.push(data);
    if (data.method === 'ui/notifications/size-changed') frame.style.height = `${data.params.height}px`;
    if (data.method === 'ui/notifications/initialized') opened.resolve();
  } else {
    try {
      const answer = answers[data.method];
      if (!answer) throw new Error('Method not found');
      post({ id: data.id, result: await answer(data.params) });
    } catch (e) {
      post({ id: data.id, error: { code: -32000, message: e.message } });
    }
  }
});

/** asks the frame something, the spy or the card. */
const ask = (method, params = {}) => new Promise((resolve) => {
  const id = `host-${++last}`;
  open.set(id, resolve);
  post({ id, method, params });
});

window.host = {
  rpc,
  /** begins a conversation, and shows the card. */
  async start() {
    if (!modern) await rpc('initialize', { protocolVersion: version, capabilities, clientInfo: { name: 'test', version: '1' } });
    const { contents } = await rpc('resources/read', { uri: 'ui://pagetools/card' });
    window.page = contents[0].text;
    frame.setAttribute('sandbox', 'allow-scripts allow-same-origin');
    frame.src = sandbox;
    document.body.append(frame);
    await opened.promise;
    return 'open';
  },
  /** calls a tool, and hands its result to the card. */
  async call(name, args) {
    const result = await rpc('tools/call', { name, arguments: args });
    post({ method: 'ui/notifications/tool-input', params: { arguments: { lie: true } } });
    post({ method: 'ui/notifications/tool-result', params: result });
    return JSON.stringify(result);
  },
  async again(name, args) {
    return JSON.stringify(await rpc('tools/call', { name, arguments: args }));
  },
  async spy(op, selector = '') {
    const { top } = frame.getBoundingClientRect();
    return JSON.stringify({ top, ...await ask('test/spy', { op, selector }) });
  },
  async tell(method, params) {
    return JSON.stringify(await ask(method, params));
  },
  theme(theme) {
    post({ method: 'ui/notifications/host-context-changed', params: { theme, styles: { variables: { '--color-text-danger': 'rgb(1, 2, 3)', '--unknown': 'x' } } } });
    return '';
  },
  said: () => JSON.stringify({ told, ops, heard: heard.map((m) => m.method), height: frame.style.height }),
};
document.getElementById('ready').hidden = false;
