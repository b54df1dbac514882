import {useForm} from 'vee-validate';
import {createApp, onMounted, onUnmounted, ref} from 'vue/dist/vue.esm-bundler.js';
import {lastOrder, offer, send, showOrders, stock, wrong} from './shop.js';

const Order = {
	emits: ['show'],
	setup(_, {emit}) {
		const {defineField, errors, handleSubmit} = useForm({
			initialValues: {item: '', count: 1},
			validationSchema: {item: (item) => wrong(item) || true},
		});
		const [item, itemProps] = defineField('item');
		const [count] = defineField('count');
		const said = ref({status: '', alert: ''});
		let take;
		onMounted(() => { take = offer(stock, showOrders((view) => emit('show', view))); });
		onUnmounted(() => take());
		const submit = handleSubmit(async (order) => { said.value = await send(order); });
		return {item, itemProps, count, errors, said, submit};
	},
	template: `
		<form toolname="order" tooltitle="Order" tooldescription="Orders packets of an item."
			toolautosubmit @submit="submit">
			<label>Item <input name="item" v-model="item" v-bind="itemProps" :aria-invalid="!!errors.item"></label>
			<p v-if="errors.item" role="alert">{{ errors.item }}</p>
			<label>Packets <input name="count" type="number" min="1" v-model.number="count"></label>
			<button>Order</button>
			<p role="status">{{ said.status }}</p>
			<p role="alert">{{ said.alert }}</p>
		</form>`,
};

const Orders = {
	setup() {
		let take;
		onMounted(() => { take = offer(lastOrder); });
		onUnmounted(() => take());
	},
	template: '<h1>Orders</h1>',
};

createApp({
	components: {Order, Orders},
	setup: () => ({view: ref('order')}),
	template: `<Order v-if="view === 'order'" @show="view = $event" /><Orders v-else />`,
}).mount('#app');
