// Tools with results of a type: a picture, and an object that keeps to a schema.
'use strict';

const levels = [212, 230, 268, 301, 322, 310, 275, 240, 214, 205, 219, 246];

const canvas = document.getElementById('chart');

function draw() {
  const pen = canvas.getContext('2d');
  const width = canvas.width / levels.length;
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.fillStyle = '#66b2ff';
  levels.forEach((level, hour) => pen.fillRect(hour * width + 4, canvas.height - level / 2, width - 8, level / 2));
}

draw();

document.modelContext?.registerTool({
  name: 'water-levels',
  description: 'The water levels of today, every two hours, in centimetres.',
  annotations: { readOnlyHint: true },
  inputSchema: { type: 'object', properties: {} },
  outputSchema: {
    type: 'object',
    properties: {
      unit: { const: 'cm' },
      levels: { type: 'array', items: { type: 'integer' }, minItems: 1 },
      highest: { type: 'integer' },
    },
    required: ['unit', 'levels', 'highest'],
  },
  execute: () => ({ unit: 'cm', levels, highest: Math.max(...levels) }),
});

document.modelContext?.registerTool({
  name: 'chart',
  description: 'The water levels of today as a picture.',
  annotations: { readOnlyHint: true },
  inputSchema: { type: 'object', properties: {} },
  execute: () => canvas, // a canvas, an image or a File is a picture or a file for the agent
});

// With ?weather there is a frame of another origin: its tools are offered because of allow="tools".
if (new URLSearchParams(location.search).has('weather')) {
  const frame = document.createElement('iframe');
  Object.assign(frame, { name: 'weather', title: 'Weather, by somebody else', allow: 'tools' });
  frame.src = location.origin.replace('127.0.0.1', 'localhost') + '/weather.html';
  document.body.append(frame);
}
