// What every shop has, whatever it is made with.

/** The tool of the first view. */
export const stock = {
	name: 'stock',
	title: 'Stock',
	description: 'Returns how many packets of an item are left.',
	inputSchema: {
		type: 'object',
		properties: {item: {type: 'string', description: 'The item, such as tea.'}},
		required: ['item'],
	},
	annotations: {readOnlyHint: true},
	execute: async ({item}) => ({item, left: item.length}),
};

/** The tool that leads from the first view to the second. show changes the view. */
export const showOrders = (show) => ({
	name: 'show_orders',
	title: 'Show orders',
	description: 'Opens the list of orders.',
	inputSchema: {type: 'object', properties: {}},
	execute: async () => {
		history.pushState({}, '', 'orders');
		show('orders');
		return 'shown';
	},
});

/** The only tool of the second view. */
export const lastOrder = {
	name: 'last_order',
	title: 'Last order',
	description: 'Returns the number of the last order.',
	inputSchema: {type: 'object', properties: {}},
	annotations: {readOnlyHint: true},
	execute: async () => ({number: 4711}),
};

/** Offers tools, and returns a function that takes them back. */
export function offer(...tools) {
	const until = new AbortController();
	for (const tool of tools) document.modelContext.registerTool(tool, {signal: until.signal});
	return () => until.abort();
}

/** Sends an order, and returns what to show: one of the two is empty. */
export async function send(order) {
	const answer = await fetch('/api/order', {
		method: 'POST',
		headers: {'Content-Type': 'application/json'},
		body: JSON.stringify(order),
	});
	const {number, message} = await answer.json();
	if (!answer.ok) return {status: '', alert: message};
	return {status: `Order ${number}: ${order.count} packets of ${order.item}`, alert: ''};
}

/** Says what is wrong with an item, or ''. */
export const wrong = (item) => (item.length < 3 ? 'An item has three letters or more.' : '');
