// The tasks: an ordinary module. Each exported function can be called by its name and runs in a worker process.
import { setTimeout as sleep } from 'node:timers/promises'
import { Jimp } from 'jimp'
import { currentJob, defineTask } from 'prefork/worker'

const MB = 1024 * 1024

/** Decodes an image, makes it `width` wide and encodes it as JPEG. It is idempotent, so it may run again when its worker dies. */
export const resize = defineTask({ timeLimit: 10_000, retryLost: 2 }, async (bytes, width) => {
  const image = await decode(bytes)
  image.resize({ w: width })
  return { jpeg: await image.getBuffer('image/jpeg', { quality: 80 }), width, height: image.height, pid: process.pid }
})

/** Paints a Julia set: the picture that `resize` uses if none is uploaded. */
export const paint = defineTask({ timeLimit: 20_000, retryLost: 2 }, async (width, height) => {
  const image = new Jimp({ width, height })
  const { data } = image.bitmap
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 4) {
      const [red, green, blue] = colour(escapeTime(((x - width / 2) / height) * 2.3, (y / height - 0.5) * 2.3))
      data[at] = red
      data[at + 1] = green
      data[at + 2] = blue
      data[at + 3] = 255
    }
  }
  return image.getBuffer('image/jpeg', { quality: 85 })
})

/** Waits without blocking the thread, and stops waiting when the job is cancelled. */
export async function nap(ms) {
  await sleep(ms, undefined, { signal: currentJob().signal })
  return { slept: ms, pid: process.pid }
}

// The following tasks are faults that the server survives.

/** Crashes like a bug in a native addon. */
export async function segfault() {
  process.kill(process.pid, 'SIGSEGV')
  await sleep(10_000)
}

export function abort() {
  process.abort()
}

export function exit() {
  process.exit(7)
}

/** A busy loop entered synchronously: the watchdog can interrupt it at the soft limit, and the process continues. */
export function spin() {
  for (let turns = 0; ; turns++) Math.sqrt(turns)
}

/** The same after an `await`: it cannot be interrupted safely, so the hard limit ends the process. */
export async function spinAfterAwait() {
  await sleep(1)
  for (let turns = 0; ; turns++) Math.sqrt(turns)
}

const hoard = []

/** Takes 32 MB every few milliseconds until `hardMemoryLimit`. It lets the event loop turn, so only its memory ends it. */
export async function leak() {
  for (;;) {
    const block = Buffer.allocUnsafeSlow(32 * MB)
    // A byte in each page makes all of it resident.
    for (let at = 0; at < block.length; at += 4_096) block[at] = 1
    hoard.push(block)
    await sleep(1)
  }
}

export function fail() {
  throw new RangeError('the task threw this', { cause: new Error('and this is why') })
}

async function decode(bytes) {
  try {
    return await Jimp.read(bytes)
  } catch (cause) {
    // The `code` of an error is kept: http.js maps this one to status 422.
    throw Object.assign(new Error('the image cannot be decoded', { cause }), { code: 'ERR_BAD_IMAGE' })
  }
}

function escapeTime(x, y) {
  let n = 0
  for (; n < 220 && x * x + y * y < 64; n++) {
    const t = x * x - y * y - 0.745
    y = 2 * x * y + 0.113
    x = t
  }
  return (n - Math.log2(Math.max(1, Math.log2(x * x + y * y) / 2))) / 220
}

function colour(v) {
  const wave = (shift) => 255 * (0.5 - 0.5 * Math.cos(6.283 * (Math.sqrt(Math.max(0, v)) * 1.3 + shift)))
  return [wave(0.02) * Math.min(1, v * 9), wave(0.12) * Math.min(1, v * 6), wave(0.28)]
}
