import htmx from 'htmx.org';
import {offer, showOrders, stock} from './shop.js';

offer(stock, {...showOrders(), execute: async () => {
	await htmx.ajax('GET', '/find', {target: '#app'});
	history.pushState({}, '', 'orders');
	return 'shown';
}});
