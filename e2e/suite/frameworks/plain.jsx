// The form of the shops that differ only in how their tools are offered.
import {useState} from 'react';
import {send} from './shop.js';
import {Said, form} from './views.jsx';

export function OrderForm() {
	const [said, setSaid] = useState({status: '', alert: ''});
	const submit = async (e) => {
		e.preventDefault();
		setSaid(await send(Object.fromEntries(new FormData(e.target))));
	};
	return (
		<form {...form} onSubmit={submit}>
			<label>Item <input name="item" required /></label>
			<label>Packets <input name="count" type="number" min="1" defaultValue="1" /></label>
			<button>Order</button>
			<Said said={said} />
		</form>
	);
}
