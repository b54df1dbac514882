// @ts-check
// What is not on the first screen: the page loads it when somebody goes there, or has nothing else to do.

export { Anywhere } from './screens/anywhere.jsx';
export { Calls } from './screens/calls.jsx';
export { Clients } from './screens/clients.jsx';
export { Sites } from './screens/sites.jsx';
