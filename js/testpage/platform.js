// The part of the platform that the shim captures, for pages in a vm context. It runs before the shim, as a browser does.
// Classes of the platform are Node's; each page gets its own copies of their prototypes, so that a page that spoils them spoils
// no other page, and not the test runner.
for (const name of ['EventTarget', 'Event', 'AbortController', 'AbortSignal']) {
  const shared = globalThis[name];
  const { construct } = Reflect;
  const own = function (...args) {
    return construct(shared, args, new.target);
  };
  Object.defineProperty(own, 'name', { value: name });
  Object.setPrototypeOf(own, shared);
  own.prototype = Object.create(shared.prototype, { constructor: { value: own, writable: true, configurable: true } });
  for (const key of Reflect.ownKeys(shared.prototype)) {
    if (key !== 'constructor') Object.defineProperty(own.prototype, key, Object.getOwnPropertyDescriptor(shared.prototype, key));
  }
  globalThis[name] = own;
}
Object.setPrototypeOf(globalThis, Object.create(EventTarget.prototype));
{
  const events = new EventTarget();
  const { apply } = Reflect;
  for (const method of ['addEventListener', 'removeEventListener', 'dispatchEvent']) {
    const inner = EventTarget.prototype[method];
    EventTarget.prototype[method] = {
      [method](...args) {
        return apply(inner, this === globalThis ? events : this, args);
      },
    }[method];
  }
}
globalThis.window = globalThis;
globalThis.top = globalThis;
Object.defineProperty(globalThis, 'closed', { get: () => false, configurable: true });
{
  const performance = new EventTarget();
  Object.defineProperty(globalThis, 'performance', { get: () => performance, configurable: true });
}
globalThis.Element = class Element {
  getAttribute(/** @type {string} */ name) {
    return name === 'lang' ? 'en' : null;
  }
};
globalThis.HTMLLinkElement = class HTMLLinkElement extends Element {
  get href() {
    return 'https://page.test/manifest.json';
  }
};
{
  const root = new Element();
  globalThis.Document = class Document {
    #url = 'https://page.test/path';

    get URL() {
      return this.#url;
    }

    get title() {
      return globalThis.pageTitle ?? 'A page';
    }

    get documentElement() {
      return root;
    }

    get defaultView() {
      return globalThis.detached ? null : window;
    }

    get readyState() {
      return 'complete';
    }

    querySelectorAll() {
      return new NodeList();
    }

    querySelector() {
      return manifestText === undefined ? null : new HTMLLinkElement();
    }
  };
}
// There are no forms here: what they do is tested in a browser.
globalThis.NodeList = class NodeList {
  get length() {
    return 0;
  }
};
globalThis.MutationObserver = class MutationObserver {
  observe() {}

  takeRecords() {
    return [];
  }
};
globalThis.document = new Document();
globalThis.Navigator = class Navigator {
  get userAgent() {
    return 'vm';
  }
};
globalThis.navigator = new Navigator();
Object.defineProperty(globalThis, 'origin', {
  get() {
    if (!('origin' in this)) throw new TypeError('Illegal invocation');
    return 'https://page.test';
  },
  configurable: true,
});
globalThis.FileReader = class FileReader {};
globalThis.fetch = async () => new Response(manifestText);
