// Vue's build with the compiler of templates.
import {createApp, onMounted, onUnmounted, reactive, ref} from 'vue/dist/vue.esm-bundler.js';
import {lastOrder, offer, send, showOrders, stock} from './shop.js';

function offerWhileShown(...tools) {
	let take;
	onMounted(() => { take = offer(...tools); });
	onUnmounted(() => take());
}

const Order = {
	emits: ['show'],
	setup(_, {emit}) {
		const order = reactive({item: '', count: 1});
		const said = ref({status: '', alert: ''});
		offerWhileShown(stock, showOrders((view) => emit('show', view)));
		return {order, said, submit: async () => { said.value = await send(order); }};
	},
	template: `
		<form toolname="order" tooltitle="Order" tooldescription="Orders packets of an item."
			toolautosubmit @submit.prevent="submit">
			<label>Item <input name="item" required v-model="order.item"></label>
			<label>Packets <input name="count" type="number" min="1" v-model.number="order.count"></label>
			<button>Order</button>
			<p role="status">{{ said.status }}</p>
			<p role="alert">{{ said.alert }}</p>
		</form>`,
};

const Orders = {
	setup() { offerWhileShown(lastOrder); },
	template: '<h1>Orders</h1>',
};

createApp({
	components: {Order, Orders},
	setup: () => ({view: ref('order')}),
	template: `<Order v-if="view === 'order'" @show="view = $event" /><Orders v-else />`,
}).mount('#app');
