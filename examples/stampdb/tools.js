// The same abilities, offered to an agent. This is the whole of what the page
// adds for WebMCP: descriptions of its own helpers.
'use strict';

const stampName = (description) => ({
  type: 'string', description, minLength: 1, maxLength: 120, examples: ['Penny Black'],
});
const stampDescription = {
  type: 'string', description: 'A brief description of the stamp', minLength: 1, maxLength: 1000,
  examples: ['A two pence stamp of Mauritius, inscribed Post Office.'],
};
const year = (description, example) => ({
  type: 'integer', description, minimum: 1840, maximum: 2100, examples: [example],
});
const imageUrl = {
  type: 'string', description: 'An optional image URL for the stamp. Without one the page draws the stamp.',
  maxLength: 2000, pattern: '^(https?://|data:image/)', examples: ['https://example.org/stamp.png'],
};
const stampList = {
  type: 'object',
  properties: {
    total: { type: 'integer', minimum: 0, description: 'How many stamps are in the list' },
    stamps: {
      type: 'array',
      description: 'The stamps, oldest first',
      items: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'The name of the stamp; unique in the collection' },
          description: { type: 'string', description: 'A brief description of the stamp' },
          year: { type: 'integer', description: 'The year the stamp was issued' },
          imageUrl: { type: ['string', 'null'], description: 'The image URL, or null when the page draws the stamp' },
        },
        required: ['name', 'description', 'year', 'imageUrl'],
        additionalProperties: false,
      },
    },
  },
  required: ['total', 'stamps'],
  additionalProperties: false,
};

const text = (words) => ({ content: [{ type: 'text', text: words }] });
const listed = (found) => ({
  total: found.length,
  stamps: found.map((stamp) => ({ name: stamp.name, description: stamp.description, year: stamp.year, imageUrl: stamp.imageUrl })),
});

const tools = [
  {
    name: 'add-stamp',
    title: 'Add a stamp',
    description: 'Add a new stamp to the collection. Names are unique: a name that the collection already has is refused.',
    inputSchema: {
      type: 'object',
      properties: {
        name: stampName('The name of the stamp'),
        description: stampDescription,
        year: year('The year the stamp was issued', 1847),
        imageUrl,
      },
      required: ['name', 'description', 'year'],
      additionalProperties: false,
    },
    execute({ name, description, year: issued, imageUrl: address }) {
      const stamp = addStamp(name, description, issued, address);
      return text(`Stamp "${stamp.name}" added successfully! The collection now contains ${stamps.length} stamps.`);
    },
  },
  {
    name: 'update-stamp',
    title: 'Update a stamp',
    description: 'Change one stamp of the collection. Give its present name and at least one member to change; the others stay.',
    inputSchema: {
      type: 'object',
      properties: {
        name: stampName('The present name of the stamp, in any case of letters'),
        newName: stampName('The new name of the stamp'),
        description: stampDescription,
        year: year('The year the stamp was issued', 1840),
        imageUrl,
      },
      required: ['name'],
      minProperties: 2,
      additionalProperties: false,
    },
    execute({ name, newName, ...changes }) {
      const stamp = stampNamed(name);
      if (!stamp) throw new Error(`The collection has no stamp named "${name}". Use find-stamps or list-stamps to see the names.`);
      updateStamp(stamp, newName === undefined ? changes : { ...changes, name: newName });
      return text(`Stamp "${stamp.name}" updated successfully! The collection contains ${stamps.length} stamps.`);
    },
  },
  {
    name: 'find-stamps',
    title: 'Find stamps',
    description: 'Find stamps by words in the name or description, by year of issue, or both. Without input it finds all.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Words that must all occur in the name or description, in any case of letters', maxLength: 200, examples: ['first triangular'] },
        from: year('The earliest year of issue', 1840),
        to: year('The latest year of issue', 1860),
      },
      additionalProperties: false,
    },
    outputSchema: stampList,
    annotations: { readOnlyHint: true },
    execute: (input) => listed(findStamps(input)),
  },
  {
    name: 'list-stamps',
    title: 'List all stamps',
    description: 'List every stamp of the collection, oldest first.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    outputSchema: stampList,
    annotations: { readOnlyHint: true },
    execute: () => listed(findStamps()),
  },
];

if ('modelContext' in navigator) {
  navigator.modelContext.provideContext({ tools });
  byId('agentNote').textContent = `This page offers ${tools.length} tools to agents.`;
}
