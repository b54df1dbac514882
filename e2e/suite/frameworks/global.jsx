// MCP-B's whole runtime, with the tools by the page's own calls.
import '@mcp-b/global';
import {OrderForm} from './plain.jsx';
import {open, useTools} from './views.jsx';

open(function Order({show}) {
	useTools(show);
	return <OrderForm />;
});
