// @ts-check
// What is not on the first screen: the page loads it when somebody goes there, or has nothing else to do.

export { Anywhere } from './screens/anywhere.jsx';
export { Audit } from './screens/audit.jsx';
export { Calls } from './screens/calls.jsx';
export { Clients } from './screens/clients.jsx';
export { Editing } from './screens/edit.jsx';
export { Live } from './screens/live.jsx';
export { Policy } from './screens/policy.jsx';
export { Sessions } from './screens/sessions.jsx';
export { Sites } from './screens/sites.jsx';
export { Shot } from './screens/traced.jsx';
