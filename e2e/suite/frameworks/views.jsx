// The views of the shops that differ only in the library of their form or of their tools.
import {useEffect, useState} from 'react';
import {createRoot} from 'react-dom/client';
import Orders from './orders.jsx';
import {offer, showOrders, stock} from './shop.js';

export const form = {
	toolname: 'order', tooltitle: 'Order', tooldescription: 'Orders packets of an item.', toolautosubmit: '',
};

export function Said({said}) {
	return <><p role="status">{said.status}</p><p role="alert">{said.alert}</p></>;
}

export function useTools(show) {
	useEffect(() => offer(stock, showOrders(show)), [show]);
}

/** Shows a shop. Order gets show, which changes the view. */
export function open(Order, Second = Orders) {
	function Shop() {
		const [view, show] = useState('order');
		return view === 'order' ? <Order show={show} /> : <Second />;
	}
	createRoot(document.getElementById('app')).render(<Shop />);
}
