// Tasks of the farm: the exported functions of an ordinary module.
//   prefork work --tasks docs/examples/farm/tasks.js
import { setTimeout as sleep } from 'node:timers/promises'

export const add = (a, b) => a + b

export const greet = async (name) => {
  console.log(`looking ${name} up`)
  await sleep(500)
  return `Hello, ${name}`
}

/** Fails: it is tried again, then it is a dead letter. */
export const fail = (why) => {
  throw new Error(why)
}

/** Never gives the processor back: what a time limit, and the key t of the dashboard, are for. */
export const spin = (ms) => {
  const end = Date.now() + ms
  while (Date.now() < end);
  return ms
}
