// React as people develop with it: a development build, in which StrictMode runs each effect twice.
import {StrictMode, Suspense, lazy, useEffect, useState} from 'react';
import {createRoot} from 'react-dom/client';
import {offer, send, showOrders, stock} from './shop.js';

const Orders = lazy(() => import('./orders.jsx'));

function Order({show}) {
	const [order, setOrder] = useState({item: '', count: 1});
	const [said, setSaid] = useState({status: '', alert: ''});
	useEffect(() => offer(stock, showOrders(show)), [show]);
	const change = (e) => setOrder({...order, [e.target.name]: e.target.value});
	const submit = async (e) => {
		e.preventDefault();
		setSaid(await send(order));
	};
	return (
		<form toolname="order" tooltitle="Order" tooldescription="Orders packets of an item."
			toolautosubmit="" onSubmit={submit}>
			<label>Item <input name="item" required value={order.item} onChange={change} /></label>
			<label>Packets <input name="count" type="number" min="1" value={order.count} onChange={change} /></label>
			<button>Order</button>
			<p role="status">{said.status}</p>
			<p role="alert">{said.alert}</p>
		</form>
	);
}

function Shop() {
	const [view, show] = useState('order');
	return view === 'order' ? <Order show={show} /> : <Suspense fallback="Loading"><Orders /></Suspense>;
}

createRoot(document.getElementById('app')).render(<StrictMode><Shop /></StrictMode>);
