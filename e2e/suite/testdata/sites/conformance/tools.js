// The tools that MCP's conformance suite calls, as far as a page can offer them; README.md says which it cannot.
'use strict';

const redPixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC'; // a PNG of one pixel
const twoSamples = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA=='; // a WAV file
const nothing = { type: 'object', properties: {} };
const image = { type: 'image', data: redPixel, mimeType: 'image/png' };
const waitedFor = 2000; // milliseconds that a call is waited for before it becomes a task, by --task-after
const text = (words) => ({ content: [{ type: 'text', text: words }] });

const schema2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

const later = (milliseconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, milliseconds);
  signal.addEventListener('abort', () => { clearTimeout(timer); reject(signal.reason); });
});

/** What a person writes, or nothing when the person declines. */
const ask = (context, question) => context.requestUserInteraction(() => prompt(question));
const agree = (context, question) => context.requestUserInteraction(() => confirm(question));

/** Ends the tool that test_trigger_tool_change registered, when there is one. */
let extra = null;

async function changeTools() {
  if (extra) {
    extra.abort();
    extra = null;
    return text('The tool test_extra is gone.');
  }
  extra = new AbortController();
  const tool = { name: 'test_extra', description: 'A tool that another one registered.', inputSchema: nothing, execute: () => text('extra') };
  await document.modelContext.registerTool(tool, { signal: extra.signal });
  return text('The tool test_extra is here.');
}

const tools = {
  test_simple_text: ['Returns a text.', () => text('This is a simple text response for testing.')],
  test_image_content: ['Returns an image.', () => ({ content: [image] })],
  test_audio_content: ['Returns a sound.', () => ({ content: [{ type: 'audio', data: twoSamples, mimeType: 'audio/wav' }] })],
  test_embedded_resource: ['Returns a resource.', () => ({
    content: [{ type: 'resource', resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' } }],
  })],
  test_multiple_content_types: ['Returns a text, an image and a resource.', () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      { type: 'resource', resource: { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{"test":"data","value":123}' } },
    ],
  })],
  test_error_handling: ['Always fails.', () => { throw new Error('This tool intentionally returns an error for testing'); }],
  test_tool_with_progress: ['Reports its progress.', async function* (input, { signal }) {
    for (const progress of [0, 50, 100]) {
      yield { progress, total: 100, message: `${progress} of 100` };
      await later(150, signal);
    }
    return text('done');
  }],
  test_logging_tool: ['Writes to the console of the page.', () => { console.info('a line'); return text('written'); }],
  test_trigger_tool_change: ['Registers a tool, or takes it away again.', changeTools],
  test_elicitation: ['Asks the person for a line.', async ({ message }, context) => text(`User response: ${await ask(context, message)}`), {
    type: 'object', properties: { message: { type: 'string', description: 'The question' } }, required: ['message'],
  }],
  test_streaming_elicitation: ['Hands over to the person.', async (input, context) => {
    // The suite never answers, and calls other tools: the page ends the question by itself.
    await context.requestUserInteraction(() => later(300, context.signal));
    return text('The person is done.');
  }],
  test_input_required_result_elicitation: ['Asks for a name.', async (input, context) => text(`Hello, ${await ask(context, 'What is your name?')}!`)],
  test_input_required_result_request_state: ['Asks for a yes.', async (input, context) => text(`state-ok: ${await agree(context, 'Please confirm')}`)],
  test_input_required_result_tampered_state: ['Asks for a yes.', async (input, context) => text(`The answer is ${await agree(context, 'Please confirm')}.`)],
  test_input_required_result_multi_round: ['Asks for a name, then for a color.', async (input, context) => {
    const name = await ask(context, 'Step 1: What is your name?');
    const color = await ask(context, 'Step 2: What is your favorite color?');
    return text(`${name} likes ${color}.`);
  }],
  test_input_required_result_capabilities: ['Asks for a name.', async (input, context) => text(`Hello, ${await ask(context, 'What is your name?')}!`)],
  greet: ['Greets.', ({ name }) => text(`Hello, ${name}!`), { type: 'object', properties: { name: { type: 'string' } } }],
  slow_compute: ['Takes as long as it is told.', async ({ seconds = 1, label = '' }, { signal }) => {
    if (seconds > 0) await later(waitedFor + seconds * 1000, signal);
    return text(`${label} took ${seconds} s`);
  }, { type: 'object', properties: { seconds: { type: 'number' }, label: { type: 'string' } } }],
  failing_job: ['Fails after a while.', async (input, { signal }) => { await later(waitedFor + 1000, signal); throw new Error('The job failed.'); }],
  confirm_delete: ['Asks for a yes after a while.', async ({ filename }, context) => {
    await later(waitedFor + 700, context.signal);
    return text(`${filename}: ${await agree(context, `Delete ${filename}?`)}`);
  }, { type: 'object', properties: { filename: { type: 'string' } } }],
  test_tool_with_task: ['Asks for a name, and takes its time then.', async (input, context) => {
    const name = await ask(context, 'What is your name?');
    await later(waitedFor + 700, context.signal);
    return text(`Hello, ${name}!`);
  }],
  json_schema_2020_12_tool: ['Tool with JSON Schema 2020-12 features', (input) => text(`You sent ${Object.keys(input).length} values.`), schema2020],
};

for (const [name, [description, execute, inputSchema = nothing]] of Object.entries(tools)) {
  document.modelContext.registerTool({ name, description, inputSchema, execute });
}
