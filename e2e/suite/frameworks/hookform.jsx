import {useState} from 'react';
import {useForm} from 'react-hook-form';
import {send, wrong} from './shop.js';
import {Said, form, open, useTools} from './views.jsx';

open(function Order({show}) {
	const {register, handleSubmit, formState: {errors}} = useForm({defaultValues: {item: '', count: 1}});
	const [said, setSaid] = useState({status: '', alert: ''});
	useTools(show);
	const validate = (item) => wrong(item) || true;
	return (
		<form {...form} onSubmit={handleSubmit(async (order) => setSaid(await send(order)))}>
			<label>Item <input {...register('item', {validate})} aria-invalid={errors.item ? 'true' : 'false'} /></label>
			{errors.item && <p role="alert">{errors.item.message}</p>}
			<label>Packets <input type="number" min="1" {...register('count', {valueAsNumber: true})} /></label>
			<button>Order</button>
			<Said said={said} />
		</form>
	);
});
