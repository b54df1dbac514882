// Prints the results of tests as TAP, version 14. The process ends with 1 when a test failed.

/** How long one test may take. Only a defect reaches it. */
const LONGEST = 60_000;

let count = 0;
let failed = 0;

/** A test that a client cannot take, and why. */
export class Skip extends Error {}

const within = (promise, milliseconds, what) => {
  let timer;
  const bound = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${milliseconds / 1000} s`)), milliseconds);
  });
  return Promise.race([promise, bound]).finally(() => clearTimeout(timer));
};

/** Runs one test and prints its line. */
export async function test(name, body) {
  count++;
  try {
    await within(body(), LONGEST, name);
    console.log(`ok ${count} - ${name}`);
  } catch (error) {
    if (error instanceof Skip) {
      console.log(`ok ${count} - ${name} # SKIP ${error.message}`);
      return;
    }
    failed++;
    console.log(`not ok ${count} - ${name}`);
    for (const line of describe(error).split('\n')) console.log(`  # ${line}`);
  }
}

/** Prints the plan, and ends the process: a client that left something open must not keep it. */
export function done() {
  console.log(`1..${count}`);
  process.exit(failed > 0 || count === 0 ? 1 : 0);
}

function describe(error) {
  const parts = [error?.stack ?? String(error)];
  for (const key of ['code', 'data', 'statusCode', 'responseBody']) if (error?.[key] !== undefined) parts.push(`${key}: ${JSON.stringify(error[key])}`);
  for (let cause = error?.cause; cause; cause = cause.cause) parts.push(`cause: ${cause.stack ?? cause}`);
  return parts.join('\n');
}
