import {ErrorMessage, Field, Form, Formik} from 'formik';
import {useState} from 'react';
import {send, wrong} from './shop.js';
import {Said, form, open, useTools} from './views.jsx';

open(function Order({show}) {
	const [said, setSaid] = useState({status: '', alert: ''});
	useTools(show);
	const validate = ({item}) => (wrong(item) ? {item: wrong(item)} : {});
	return (
		<Formik initialValues={{item: '', count: 1}} validate={validate}
			onSubmit={async (order) => setSaid(await send(order))}>
			{({errors, touched}) => (
				<Form {...form} noValidate>
					<label>Item <Field name="item" aria-invalid={Boolean(errors.item && touched.item)} /></label>
					<ErrorMessage name="item" component="p" role="alert" />
					<label>Packets <Field name="count" type="number" min="1" /></label>
					<button>Order</button>
					<Said said={said} />
				</Form>
			)}
		</Formik>
	);
});
