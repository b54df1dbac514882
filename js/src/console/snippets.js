// @ts-check
// A call as a program: the same arguments, for an agent or a terminal. A credential is never in it.

/** @typedef {{endpoint: string, token: boolean, site: string, tool: string, input: string, session?: string, version?: string, config?: string}} Called
 *   endpoint is the address of the agents' listener, token says that it asks for one; input and config are JSON */

// Characters that no reader of a program sees, or that turn it round, and halves of pairs: in JSON each has an escape.
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** JSON in one line, all of whose characters can be seen. @param {string} json */
const plain = (json) => json.replace(/[\t\n\r]+/g, ' ').replace(hidden, (c) => [...Array(c.length).keys()].map((i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''));

/** A literal of Go, Python and JavaScript, and JSON. @param {string} text */
const quoted = (text) => plain(JSON.stringify(text));

/** A word of a shell. @param {string} text */
const word = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** JSON as an expression of JavaScript; what it would round is told. @param {string} json */
const parsed = (json) => `JSON.parse(${quoted(json)})${/(?<!["\w])-?\d{16,}|\d\.\d{16,}/.test(json) ? ' /* which rounds long numbers */' : ''}`;

/** @param {Called} c */
function body({ tool, input, session, version, config }) {
  return plain(`{${[
    ...(session ? [`"sessionId":${JSON.stringify(session)}`] : []), ...(version ? [`"version":${JSON.stringify(version)}`] : []),
    `"action":${JSON.stringify(tool)}`, ...(config ? [`"config":${config}`] : []), `"request":${input}`,
  ].join(',')}}`);
}

/** @param {Called} c */
const webtool = (c) => `${c.endpoint}/webtools/${encodeURIComponent(c.site)}`;
/** @param {Called} c */
const mcp = (c) => `${c.endpoint}/mcp/${encodeURIComponent(c.site)}${c.session ? `?session=${encodeURIComponent(c.session)}` : ''}`;
/** @param {Called} c */
const headers = ({ token }) => (token ? ', headers: { Authorization: `Bearer ${process.env.PAGETOOLS_TOKEN}` }' : '');

/** How a call is made, by the name of what makes it. @type {Record<string, (c: Called) => string>} */
export const snippets = {
  curl: (c) => `curl -sS ${word(webtool(c))} -H 'Content-Type: application/json'${c.token ? ' -H "Authorization: Bearer $PAGETOOLS_TOKEN"' : ''} \\
  --data-binary ${word(body(c))}
`,
  Go: (c) => `package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	r, err := http.NewRequest("POST", ${quoted(webtool(c))}, strings.NewReader(${quoted(body(c))}))
	if err != nil {
		log.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
${c.token ? '	r.Header.Set("Authorization", "Bearer "+os.Getenv("PAGETOOLS_TOKEN"))\n' : ''}	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		log.Fatal(err)
	}
	defer reply.Body.Close()
	if _, err := io.Copy(os.Stdout, reply.Body); err != nil {
		log.Fatal(err)
	}
}
`,
  TypeScript: (c) => `const reply = await fetch(${quoted(webtool(c))}, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json'${c.token ? ', Authorization: `Bearer ${process.env.PAGETOOLS_TOKEN}`' : ''} },
  body: ${quoted(body(c))},
});
console.log(await reply.text());
`,
  Python: (c) => `${c.token ? 'import os\n' : ''}import urllib.error
import urllib.request

request = urllib.request.Request(
    ${quoted(webtool(c))},
    data=${quoted(body(c))}.encode(),
    headers={"Content-Type": "application/json"${c.token ? ', "Authorization": "Bearer " + os.environ["PAGETOOLS_TOKEN"]' : ''}},
)
try:
    reply = urllib.request.urlopen(request)
except urllib.error.HTTPError as refused:
    reply = refused
print(reply.read().decode())
`,
  'AI SDK': (c) => `import { createMCPClient } from '@ai-sdk/mcp';

const site = await createMCPClient({ transport: { type: 'http', url: ${quoted(mcp(c))}${headers(c)} } });
try {
  const tools = await site.tools(); // generateText takes them as they are
  const result = await tools[${quoted(c.tool)}].execute(${parsed(c.input)}, { toolCallId: 'call-1', messages: [] });
  console.log(JSON.stringify(result));
} finally {
  await site.close();
}
`,
  LangChain: (c) => `import { MultiServerMCPClient } from '@langchain/mcp-adapters';

const client = new MultiServerMCPClient({ mcpServers: { site: { transport: 'http', url: ${quoted(mcp(c))}${headers(c)} } } });
try {
  const tools = await client.getTools(); // an agent takes them as they are
  const tool = tools.find(({ name }) => name === ${quoted(c.tool)});
  console.log(JSON.stringify(await tool?.invoke(${parsed(c.input)})));
} finally {
  await client.close();
}
`,
  MCP: (c) => `import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const client = new Client({ name: 'my-agent', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(new StreamableHTTPClientTransport(new URL(${quoted(mcp(c))})${c.token ? ', { requestInit: { headers: { Authorization: `Bearer ${process.env.PAGETOOLS_TOKEN}` } } }' : ''}));
try {
  const result = await client.callTool({ name: ${quoted(c.tool)}, arguments: ${parsed(c.input)} });
  console.log(JSON.stringify(result));
} finally {
  await client.close();
}
`,
};
