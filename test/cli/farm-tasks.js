// Tasks that the command line's tests publish.
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export const add = (a, b) => a + b

export const wait = async (ms) => {
  console.log(`waiting ${ms} ms`)
  await sleep(ms)
  return ms
}

export const waitForFile = async (path) => {
  while (!existsSync(path)) await sleep(5)
}

export const fail = (why) => {
  throw new RangeError(why)
}

export const spin = (ms) => {
  const end = Date.now() + ms
  while (Date.now() < end);
}

export const variables = () => Object.keys(process.env)
