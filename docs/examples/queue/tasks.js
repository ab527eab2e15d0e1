// The tasks of the queue: an ordinary module. A job whose process dies runs again, so each task may run twice: a file gets its name when it is whole.
import { rename, writeFile } from 'node:fs/promises'
import { Jimp } from 'jimp'
import { currentJob, defineTask } from 'prefork/worker'

// A job may lose its process this often before it fails as one that kills what runs it. The demo is made to be killed.
const OPTIONS = { timeLimit: 60_000, retryLost: 50 }
const ROWS = 40

/** Makes a JPEG of each width from the picture in `source`. */
export const thumbnails = defineTask(OPTIONS, async (source, results, widths) => {
  const { progress } = currentJob()
  const image = await read(source)
  const made = []
  for (const width of widths) {
    progress({ done: made.length, of: widths.length })
    const smaller = image.clone().resize({ w: width })
    await save(`${results}-${width}.jpg`, await smaller.getBuffer('image/jpeg', { quality: 80 }))
    made.push({ width, height: smaller.height })
  }
  return made
})

/** Paints a Julia set into `target`: the picture of someone who has none at hand. */
export const paint = defineTask(OPTIONS, async (target, seed) => {
  const { progress } = currentJob()
  const image = new Jimp({ width: 800, height: 600 })
  for (let row = 0; row < image.height; row += ROWS) {
    progress({ done: row, of: image.height })
    paintRows(image, row, row + ROWS, seed)
    // The event loop turns, so that the progress leaves the process.
    await new Promise(setImmediate)
  }
  await save(target, await image.getBuffer('image/jpeg', { quality: 90 }))
})

async function save(path, bytes) {
  // Two runs of a job never write the same file.
  const part = `${path}.${process.pid}.part`
  await writeFile(part, bytes, { flush: true })
  await rename(part, path)
}

async function read(source) {
  try {
    return await Jimp.read(source)
  } catch (cause) {
    throw Object.assign(new Error('the picture cannot be decoded', { cause }), { code: 'ERR_BAD_IMAGE' })
  }
}

function paintRows(image, from, to, seed) {
  const { width, height, data } = image.bitmap
  const [cx, cy] = [0.78 * Math.cos(seed), 0.78 * Math.sin(seed)]
  for (let y = from; y < Math.min(to, height); y++) {
    for (let x = 0; x < width; x++) {
      let [re, im, n] = [((x - width / 2) / height) * 2.6, (y / height - 0.5) * 2.6, 0]
      for (; n < 250 && re * re + im * im < 16; n++) [re, im] = [re * re - im * im + cx, 2 * re * im + cy]
      const at = (y * width + x) * 4
      const shade = Math.sqrt(n / 250)
      data[at] = 255 * shade
      data[at + 1] = 255 * (0.5 - 0.5 * Math.cos(6.28 * (shade + seed)))
      data[at + 2] = 255 * (0.5 - 0.5 * Math.cos(6.28 * shade))
      data[at + 3] = 255
    }
  }
}
