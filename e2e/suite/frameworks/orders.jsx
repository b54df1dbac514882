import {useEffect} from 'react';
import {lastOrder, offer} from './shop.js';

export default function Orders() {
	useEffect(() => offer(lastOrder), []);
	return <h1>Orders</h1>;
}
