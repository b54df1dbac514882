// One tool, as in the published guides.
'use strict';

navigator.modelContext.provideContext({
  tools: [{
    name: 'get_current',
    description: 'Return the current weather for a given location.',
    inputSchema: {
      type: 'object',
      properties: {
        location: { type: 'string', description: 'The place', examples: ['Paris'] },
        units: { type: 'string', enum: ['metric', 'imperial'], description: 'The units' },
      },
      required: ['location'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true },
    execute: ({ location, units = 'none' }) => ({ location, units, temperature: units === 'imperial' ? 64 : 18 }),
  }],
});
