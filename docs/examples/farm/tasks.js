// The tasks of a node: the exported functions of an ordinary module.
//   prefork work --tasks docs/examples/farm/tasks.js
import { setTimeout as sleep } from 'node:timers/promises'

export const add = (a, b) => a + b

export const greet = async (name) => {
  console.log(`looking ${name} up`)
  await sleep(500)
  return `Hello, ${name}`
}

/** Fails: it is retried, then it becomes a dead letter. */
export const fail = (why) => {
  throw new Error(why)
}

/** Blocks the event loop: a case for a time limit, and for the key t of the dashboard. */
export const spin = (ms) => {
  const end = Date.now() + ms
  while (Date.now() < end);
  return ms
}
