// MCP-B's polyfill, in a page that has the interface already or has it not.
import {initializeWebMCPPolyfill} from '@mcp-b/webmcp-polyfill';
import {OrderForm} from './plain.jsx';
import {open, useTools} from './views.jsx';

initializeWebMCPPolyfill();

open(function Order({show}) {
	useTools(show);
	return <OrderForm />;
});
