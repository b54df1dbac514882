import * as Turbo from '@hotwired/turbo';
import {offer, showOrders, stock} from './shop.js';

offer(stock, {...showOrders(), execute: async () => {
	const shown = new Promise((done) => { addEventListener('turbo:load', done, {once: true}); });
	Turbo.visit('orders');
	await shown;
	return 'shown';
}});
