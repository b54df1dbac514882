// The sandbox: it has an origin of its own, and shows what it is given in a frame that has none. The policy that the test's server sends
// with it holds for that frame, too. A spy goes into the page, which sees and does what a script in it could.
'use strict';

let inner;
const spy = document.getElementById('spy').textContent;
window.addEventListener('message', ({ source, data }) => {
  if (source === window.parent && data?.method === 'ui/notifications/sandbox-resource-ready') {
    inner = document.createElement('iframe');
    inner.setAttribute('sandbox', 'allow-scripts');
    inner.srcdoc = data.params.html.replace('<head>', () => `<head><script>${spy}</${'script'}>`);
    document.body.append(inner);
  } else if (source === window.parent) {
    inner?.contentWindow.postMessage(data, '*');
  } else if (source === inner?.contentWindow) {
    window.parent.postMessage(data, '*');
  }
});
window.addEventListener('load', () => window.parent.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/sandbox-proxy-ready', params: {} }, '*'));
