// MCP-B's hooks over the polyfill.
import {initializeWebMCPPolyfill} from '@mcp-b/webmcp-polyfill';
import {useWebMCP} from 'usewebmcp';
import {OrderForm} from './plain.jsx';
import {lastOrder, showOrders, stock} from './shop.js';
import {open} from './views.jsx';

initializeWebMCPPolyfill();

function Order({show}) {
	useWebMCP(stock);
	useWebMCP(showOrders(show));
	return <OrderForm />;
}

open(Order, function Orders() {
	useWebMCP(lastOrder);
	return <h1>Orders</h1>;
});
