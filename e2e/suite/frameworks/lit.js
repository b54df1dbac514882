// Everything is in the document's own tree, or in shadow trees, as Lit does when nobody says otherwise.
import {LitElement, html} from 'lit';
import {lastOrder, offer, send, showOrders, stock} from './shop.js';

class Part extends LitElement {
	createRenderRoot() { return document.title === 'litshadow' ? super.createRenderRoot() : this; }
}

class ShopOrder extends Part {
	static properties = {order: {state: true}, said: {state: true}};

	constructor() {
		super();
		this.order = {item: '', count: 1};
		this.said = {status: '', alert: ''};
	}

	connectedCallback() {
		super.connectedCallback();
		const show = (view) => this.dispatchEvent(new CustomEvent('show', {detail: view}));
		this.take = offer(stock, showOrders(show));
	}

	disconnectedCallback() {
		super.disconnectedCallback();
		this.take();
	}

	change(e) { this.order = {...this.order, [e.target.name]: e.target.value}; }

	async submit(e) {
		e.preventDefault();
		this.said = await send(this.order);
	}

	render() {
		return html`
			<form toolname="order" tooltitle="Order" tooldescription="Orders packets of an item."
				toolautosubmit @submit=${this.submit}>
				<label>Item <input name="item" required .value=${this.order.item} @input=${this.change}></label>
				<label>Packets <input name="count" type="number" min="1"
					.value=${String(this.order.count)} @input=${this.change}></label>
				<button>Order</button>
				<p role="status">${this.said.status}</p>
				<p role="alert">${this.said.alert}</p>
			</form>`;
	}
}
customElements.define('shop-order', ShopOrder);

class ShopOrders extends Part {
	connectedCallback() {
		super.connectedCallback();
		this.take = offer(lastOrder);
	}

	disconnectedCallback() {
		super.disconnectedCallback();
		this.take();
	}

	render() { return html`<h1>Orders</h1>`; }
}
customElements.define('shop-orders', ShopOrders);

class Shop extends Part {
	static properties = {view: {state: true}};

	constructor() {
		super();
		this.view = 'order';
	}

	render() {
		if (this.view !== 'order') return html`<shop-orders></shop-orders>`;
		return html`<shop-order @show=${(e) => { this.view = e.detail; }}></shop-order>`;
	}
}
customElements.define('tea-shop', Shop);
document.getElementById('app').append(document.createElement('tea-shop'));
