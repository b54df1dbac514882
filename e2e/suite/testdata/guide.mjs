// What the first published guide sends: metadata once, then calls without an action unless the model invents one. Usage:
// node guide.mjs URL ARGUMENTS; it prints what a model would get.
const [url, args] = process.argv.slice(2);

async function getTool() {
  const response = await fetch(url);
  const meta = await response.json();
  return {
    name: meta.name,
    description: meta.description,
    parameters: meta.actions[0].requestSchema,
    execute: async (input) => {
      const reply = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ sessionId: crypto.randomUUID(), action: input.action, request: input }),
      });
      return (await reply.json()).data;
    },
  };
}

const tool = await getTool();
const data = await tool.execute(JSON.parse(args));
console.log(JSON.stringify({ name: tool.name, description: tool.description, parameters: tool.parameters, data: data ?? null }));
