// The purchase of the WebMCP explainer: the tool asks the person before it buys. In a browser without WebMCP this script does
// nothing.

const context = document.modelContext ?? navigator.modelContext;

if (context?.registerTool) {
  context.registerTool({
    name: 'buyProduct',
    description: 'Use this tool to purchase a product given its unique product_id.',
    inputSchema: {
      type: 'object',
      properties: {
        product_id: { type: 'string', description: 'The unique identifier for the product to be purchased.', examples: ['sencha'] },
      },
      required: ['product_id'],
    },
    async execute({ product_id: id }, agent) {
      const { name, price } = findProduct(id);
      const confirmed = await agent.requestUserInteraction(async () => confirm(`Buy ${name} for ${money(price)}?\nClick OK to confirm, Cancel to abort.`));
      if (!confirmed) throw new Error('Purchase cancelled by user.');
      executePurchase(id);
      return `Product ${id} purchased.`;
    },
  });
  context.registerTool({
    name: 'listOrders',
    description: 'Lists the products on sale and what was ordered.',
    inputSchema: { type: 'object', properties: {} },
    annotations: { readOnlyHint: true },
    execute: () => ({ products, orders: [...orders] }),
  });
}
