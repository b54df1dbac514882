// A tool that hands over to the person: only they can pick the seat and sign. In a browser without WebMCP this script does nothing.

const context = document.modelContext ?? navigator.modelContext;

if (context?.registerTool) {
  context.registerTool({
    name: 'book-seat',
    description: 'Books a seat for a play. The person picks the seat and signs the house rules in the page.',
    inputSchema: {
      type: 'object',
      properties: { play: { type: 'string', description: 'The id of the play.', examples: ['tempest'] } },
      required: ['play'],
    },
    async execute({ play }, agent) {
      findPlay(play);
      const gone = new AbortController();
      try {
        const booking = await agent.requestUserInteraction(() => book(play, gone.signal));
        if (!booking) throw new Error('The person cancelled.');
        return booking;
      } finally {
        gone.abort(); // the person may have declined elsewhere: then the wizard is still open
      }
    },
  });
  context.registerTool({
    name: 'list-plays',
    description: 'Lists the plays, the seats that are taken, and what was booked.',
    inputSchema: { type: 'object', properties: {} },
    annotations: { readOnlyHint: true },
    execute: () => ({ plays, bookings: [...bookings] }),
  });
}
