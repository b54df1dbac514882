import {useForm} from '@tanstack/react-form';
import {useState} from 'react';
import {send, wrong} from './shop.js';
import {Said, form, open, useTools} from './views.jsx';

open(function Order({show}) {
	const [said, setSaid] = useState({status: '', alert: ''});
	useTools(show);
	const order = useForm({
		defaultValues: {item: '', count: 1},
		onSubmit: async ({value}) => setSaid(await send(value)),
	});
	const submit = (e) => {
		e.preventDefault();
		e.stopPropagation();
		order.handleSubmit();
	};
	return (
		<form {...form} onSubmit={submit}>
			<order.Field name="item" validators={{onSubmit: ({value}) => wrong(value) || undefined}}>
				{(field) => (
					<>
						<label>Item <input name={field.name} value={field.state.value} onBlur={field.handleBlur}
							onChange={(e) => field.handleChange(e.target.value)} aria-invalid={!field.state.meta.isValid} /></label>
						{!field.state.meta.isValid && <em role="alert">{field.state.meta.errors.join(', ')}</em>}
					</>
				)}
			</order.Field>
			<order.Field name="count">
				{(field) => (
					<label>Packets <input name={field.name} type="number" min="1" value={field.state.value}
						onChange={(e) => field.handleChange(e.target.valueAsNumber)} /></label>
				)}
			</order.Field>
			<button>Order</button>
			<Said said={said} />
		</form>
	);
});
