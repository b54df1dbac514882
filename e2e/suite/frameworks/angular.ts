// Angular without zones. Its templates are compiled in the page.
import '@angular/compiler';
import {Component, EventEmitter, Output, enableProdMode, signal} from '@angular/core';
import {FormControl, FormGroup, ReactiveFormsModule, Validators} from '@angular/forms';
import {bootstrapApplication} from '@angular/platform-browser';
import {lastOrder, offer, send, showOrders, stock} from './shop.js';

@Component({
	selector: 'shop-order',
	imports: [ReactiveFormsModule],
	template: `
		<form toolname="order" tooltitle="Order" tooldescription="Orders packets of an item."
			toolautosubmit [formGroup]="order" (ngSubmit)="submit()">
			<label>Item <input name="item" formControlName="item" [attr.aria-invalid]="wrong()"></label>
			<label>Packets <input name="count" type="number" min="1" formControlName="count"></label>
			<button>Order</button>
			<p role="status">{{ said().status }}</p>
			<p role="alert">{{ said().alert }}</p>
		</form>`,
})
class Order {
	@Output() show = new EventEmitter<string>();
	order = new FormGroup({
		item: new FormControl('', {nonNullable: true, validators: [Validators.required, Validators.minLength(3)]}),
		count: new FormControl(1),
	});
	said = signal({status: '', alert: ''});
	wrong = signal(false);
	take = offer(stock, showOrders((view: string) => this.show.emit(view)));

	async submit() {
		this.wrong.set(this.order.invalid);
		if (this.order.invalid) this.said.set({status: '', alert: 'An item has three letters or more.'});
		else this.said.set(await send(this.order.value));
	}

	ngOnDestroy() { this.take(); }
}

@Component({selector: 'shop-orders', template: '<h1>Orders</h1>'})
class Orders {
	take = offer(lastOrder);

	ngOnDestroy() { this.take(); }
}

@Component({
	selector: '#app',
	imports: [Order, Orders],
	template: `@if (view() === 'order') { <shop-order (show)="view.set($event)" /> } @else { <shop-orders /> }`,
})
class Shop {
	view = signal('order');
}

enableProdMode();
bootstrapApplication(Shop);
