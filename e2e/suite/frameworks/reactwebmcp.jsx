// MCP-B's whole runtime and its hooks, in a development build with StrictMode.
import '@mcp-b/global';
import {useWebMCP} from '@mcp-b/react-webmcp';
import {StrictMode, useState} from 'react';
import {createRoot} from 'react-dom/client';
import {OrderForm} from './plain.jsx';
import {lastOrder, showOrders, stock} from './shop.js';

function Order({show}) {
	useWebMCP(stock);
	useWebMCP(showOrders(show));
	return <OrderForm />;
}

function Orders() {
	useWebMCP(lastOrder);
	return <h1>Orders</h1>;
}

function Shop() {
	const [view, show] = useState('order');
	return view === 'order' ? <Order show={show} /> : <Orders />;
}

createRoot(document.getElementById('app')).render(<StrictMode><Shop /></StrictMode>);
