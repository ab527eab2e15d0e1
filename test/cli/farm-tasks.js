// Tasks that the command line's tests publish.
import { setTimeout as sleep } from 'node:timers/promises'

export const add = (a, b) => a + b

export const wait = async (ms) => {
  console.log(`waiting ${ms} ms`)
  await sleep(ms)
  return ms
}

export const fail = (why) => {
  throw new RangeError(why)
}

export const spin = (ms) => {
  const end = Date.now() + ms
  while (Date.now() < end);
}

export const variables = () => Object.keys(process.env)
