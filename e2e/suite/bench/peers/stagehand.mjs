// An MCP server over stdio around Stagehand, which is a library: the page's tools are its tools.
// node stagehand.mjs ADDRESS, with the browser in PAGETOOLS_EXECUTABLE_PATH.
import { localBrowser, Stagehand } from "@browserbasehq/stagehand";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

console.log = console.info = console.error; // stdout is the protocol's
const browser = await localBrowser.launch({
  executablePath: process.env.PAGETOOLS_EXECUTABLE_PATH,
  headless: true,
  chromiumSandbox: process.env.PAGETOOLS_NO_SANDBOX !== "1",
  args: ["--enable-features=WebMCP"],
});
const stagehand = await Stagehand.create({ browser });
const [page] = await browser.context.pages();
await page.goto(process.argv[2]);

const server = new Server({ name: "stagehand", version: "1" }, { capabilities: { tools: {} } });
let known = new Map();
server.setRequestHandler(ListToolsRequestSchema, async () => {
  const tools = await page.tools();
  known = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    tools: tools.map(({ name, description, inputSchema }) => ({
      name, description, inputSchema: inputSchema ?? { type: "object" },
    })),
  };
});
server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
  const invocation = await known.get(params.name).invoke({ input: params.arguments ?? {} });
  const { status, output, errorText } = await invocation.result();
  const text = status === "Completed" ? JSON.stringify(output) : errorText ?? status;
  return { content: [{ type: "text", text }], isError: status !== "Completed" };
});

const end = async () => {
  await stagehand.close();
  await browser.close();
  process.exit(0);
};
process.stdin.on("end", end);
process.on("SIGTERM", end);
await server.connect(new StdioServerTransport());
