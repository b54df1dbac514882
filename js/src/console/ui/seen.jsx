// @ts-check
// What is shown of pages: only while somebody looks, and in a frame that says whose it is.

import { useEffect, useState } from 'preact/hooks';

const rests = 30_000; // milliseconds after which a page that nobody sees shows nothing more

/** Whether the tab is seen, or was a moment ago. */
export function useSeen() {
  const [seen, setSeen] = useState(true);
  useEffect(() => {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let soon;
    const look = () => {
      clearTimeout(soon);
      if (document.hidden) soon = setTimeout(setSeen, rests, false);
      else setSeen(true);
    };
    document.addEventListener('visibilitychange', look);
    look();
    return () => {
      clearTimeout(soon);
      document.removeEventListener('visibilitychange', look);
    };
  }, []);
  return seen;
}

/** What stands above a live view: whose it is. @param {{seen: boolean, children?: import('preact').ComponentChildren}} props seen is what useSeen says */
export function OfPage({ seen, children }) {
  return (
    <>
      <p class="bar-of"><strong class="of-page">page</strong> <span class="meta">What is in the frame is the page's, also where it looks like pagetools.</span>{children}</p>
      {!seen && <p class="meta">Nothing is shown while nobody looks.</p>}
    </>
  );
}
