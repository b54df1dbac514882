// An agent with the Vercel AI SDK: a model gets the tools of a page, and calls them until it is done. The model here is a
// mock, which needs no key. Put a real one in its place, and nothing else changes.
//
// Usage: node agent-aisdk.mjs URL

import { createMCPClient } from '@ai-sdk/mcp';
import { generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

const [url] = process.argv.slice(2);
if (!url) {
  console.error('usage: node agent-aisdk.mjs URL');
  process.exit(2);
}

/** What the mock says, step by step: two calls of tools, then words. */
const steps = [
  (options) => toolCall('list-products', {}, options),
  (options) => toolCall('add-to-cart', { product: 'rye', quantity: 2 }, options),
  ({ prompt }) => [{ type: 'text', text: `Done. The bakery said: ${lastResult(prompt)}` }],
];

/** A model calls only what it was offered. */
function toolCall(toolName, input, { tools, prompt }) {
  if (!tools.some((tool) => tool.name === toolName)) throw new Error(`the page offers no ${toolName}`);
  return [{ type: 'tool-call', toolCallId: `call-${prompt.length}`, toolName, input: JSON.stringify(input) }];
}

/** The words of the last result that the model sees. */
function lastResult(prompt) {
  const { output } = prompt.at(-1).content.at(-1);
  return output.type === 'content' ? output.value.map((part) => part.text).join('') : JSON.stringify(output.value);
}

const tokens = { inputTokens: { total: 0 }, outputTokens: { total: 0 } };
const model = new MockLanguageModelV4({
  async doGenerate(options) {
    const content = steps.shift()(options);
    const reason = content[0].type === 'text' ? 'stop' : 'tool-calls';
    return { content, finishReason: { unified: reason, raw: reason }, usage: tokens, warnings: [] };
  },
});

const page = await createMCPClient({ transport: { type: 'http', url } });
try {
  const tools = await page.tools();
  console.log(`tools: ${Object.keys(tools).join(', ')}`);
  const { text, steps: taken } = await generateText({ model, tools, stopWhen: isStepCount(5), prompt: 'Put two dark ryes into the cart.' });
  for (const { toolCalls } of taken) for (const { toolName, input } of toolCalls) console.log(`${toolName} ${JSON.stringify(input)}`);
  console.log(text);
} finally {
  await page.close();
}
