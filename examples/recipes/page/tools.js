// What the page offers to agents: the names and the arguments are those of the API (openapi.json), so an agent that
// has one has the other. In a browser without WebMCP this script does nothing.
'use strict';

const text = (description, maxLength, example, minLength = 1) => (
  { type: 'string', description, minLength, maxLength, examples: [example] });
const minutes = (description, example) => (
  { type: 'integer', description, minimum: 1, maximum: 1440, examples: [example] });
const list = (description, maxLength, examples) => ({
  type: 'array', description, minItems: 1, maxItems: 20, items: { type: 'string', minLength: 1, maxLength },
  examples: [examples],
});
const cuisine = {
  type: 'string', description: 'Where the dish is from', examples: ['japanese'],
  enum: ['french', 'indian', 'italian', 'japanese', 'mexican'],
};
const maxMinutes = minutes('Only what takes no longer, in minutes', 30);
const id = text('The id of a recipe that was found or saved', 60, 'cacio-e-pepe');
const input = (properties, ...required) => ({ type: 'object', properties, required, additionalProperties: false });

const tools = [
  {
    name: 'search-recipes',
    title: 'Search recipes',
    description: 'Finds recipes by words, cuisine and time. Use it to find dishes, or to cook with what is there.',
    inputSchema: input({
      query: text('Words of the title or an ingredient; without it all are found', 80, 'eggs', 0),
      cuisine,
      maxMinutes,
    }),
    annotations: { readOnlyHint: true },
    execute: (values, { signal } = {}) => searchRecipes(values, signal),
  },
  {
    name: 'get-recipe',
    title: 'Read one recipe',
    description: 'Returns the ingredients and the steps of a recipe. Use it to cook a dish that was found.',
    inputSchema: input({ id }, 'id'),
    annotations: { readOnlyHint: true },
    execute: (values, { signal } = {}) => getRecipe(values.id, signal),
  },
  {
    name: 'save-recipe',
    title: 'Save a recipe',
    description: 'Adds a recipe to the cookbook of the person. Use it when they want to keep one of their own.',
    inputSchema: input({
      title: text('The name of the dish', 80, 'Shakshuka'),
      cuisine,
      minutes: minutes('How long it takes', 25),
      ingredients: list('What is needed', 80, ['eggs', 'tomatoes']),
      steps: list('How it is made', 300, ['Simmer the tomatoes.', 'Poach the eggs in them.']),
    }, 'title', 'cuisine', 'minutes', 'ingredients', 'steps'),
    annotations: { destructiveHint: false },
    execute: (values, { signal } = {}) => saveRecipe(values, signal),
  },
  {
    name: 'delete-recipe',
    title: 'Delete a recipe',
    description: 'Deletes a recipe of the person for good. Use it only when they name the recipe to delete.',
    inputSchema: input({ id: { ...id, examples: ['mine-1'] } }, 'id'),
    annotations: { destructiveHint: true },
    execute: (values, { signal } = {}) => deleteRecipe(values.id, signal),
  },
  {
    name: 'plan-week',
    title: 'Plan a week',
    description: 'Chooses what to cook on some days, from Monday on. Each plan costs the person one credit.',
    inputSchema: input({
      days: { type: 'integer', minimum: 1, maximum: 7, description: 'How many days; 7 without it', examples: [3] },
      cuisine,
      maxMinutes,
    }),
    annotations: { consequentialHint: true },
    execute: (values, { signal } = {}) => planWeek(values, signal),
  },
];

for (const tool of tools) document.modelContext?.registerTool(tool);
