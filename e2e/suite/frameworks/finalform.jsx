import {useState} from 'react';
import {Field, Form} from 'react-final-form';
import {send, wrong} from './shop.js';
import {Said, form, open, useTools} from './views.jsx';

open(function Order({show}) {
	const [said, setSaid] = useState({status: '', alert: ''});
	useTools(show);
	return (
		<Form initialValues={{count: 1}} onSubmit={async (order) => setSaid(await send(order))}>
			{({handleSubmit}) => (
				<form {...form} onSubmit={handleSubmit}>
					<Field name="item" validate={(item) => wrong(item || '') || undefined}>
						{({input, meta}) => (
							<>
								<label>Item <input {...input} aria-invalid={Boolean(meta.error && meta.touched)} /></label>
								{meta.error && meta.touched && <p role="alert">{meta.error}</p>}
							</>
						)}
					</Field>
					<label>Packets <Field name="count" component="input" type="number" min="1" /></label>
					<button>Order</button>
					<Said said={said} />
				</form>
			)}
		</Form>
	);
});
