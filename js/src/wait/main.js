// @ts-check
// Waits for an element. It runs in a world of its own, whose functions no page can change.

wait = (selector) => new Promise((resolve) => {
  const look = () => document.querySelector(selector) !== null;
  if (look()) {
    resolve('');
    return;
  }
  const observer = new MutationObserver(() => {
    if (!look()) return;
    observer.disconnect();
    resolve('');
  });
  observer.observe(document, { subtree: true, childList: true, attributes: true });
});
