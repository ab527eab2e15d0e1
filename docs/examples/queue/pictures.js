// The pictures: each is a job under the picture's id, the uploaded file, and the files that the job makes.
import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'

export const WIDTHS = [640, 320, 160]
const SHOWN = 60
const ID_LENGTH = 36
const ORPHAN_AGE = 60 * 60_000

export class Pictures {
  constructor(queue, folder) {
    this.queue = queue
    this.uploads = join(folder, 'uploads')
    this.results = join(folder, 'results')
    for (const each of [this.uploads, this.results]) mkdirSync(each, { recursive: true })
  }

  /** Resolves when both the file and its job are on the disk: from then on neither is lost, whatever dies. */
  async add(bytes) {
    const id = randomUUID()
    await this.#store(join(this.uploads, id), bytes)
    await this.queue.add('thumbnails', this.#argsOf(id), { id })
    return id
  }

  /** A picture that another job paints first. Both jobs are added, or neither is. */
  async paint() {
    const id = randomUUID()
    const child = { task: 'paint', args: [join(this.uploads, id), Math.random() * 6.28], options: { id: `${id}-paint` } }
    await this.queue.addFlow({ task: 'thumbnails', args: this.#argsOf(id), options: { id }, children: [child] })
    return id
  }

  /** What the page shows: the newest pictures, with their states. */
  async list() {
    const newest = []
    for (let page, after = 0; page === undefined || page.length === 1_000; after = page.at(-1)?.seq) {
      page = await this.queue.jobs({ task: 'thumbnails', after, limit: 1_000 })
      newest.push(...page)
      newest.splice(0, newest.length - SHOWN)
    }
    return (await Promise.all(newest.map(({ id }) => this.view(id)))).filter((each) => each !== undefined)
  }

  /** Undefined: there is no such picture. */
  async view(id) {
    const job = await (await this.queue.job(id))?.details()
    if (job === undefined) return undefined
    // While its picture is painted, the progress is that of the other job.
    const painting = job.state === 'blocked' ? await (await this.queue.job(`${id}-paint`))?.details() : undefined
    const { state, createdAt, endedAt, counts, error } = job
    const progress = painting?.progress ?? job.progress
    return {
      id,
      state: painting?.state === 'active' ? 'painting' : state,
      progress,
      createdAt,
      endedAt,
      losses: counts.losses + (painting?.counts.losses ?? 0),
      error: error?.message,
    }
  }

  /** A JPEG of this width. Undefined: not made, or not yet. */
  async file(id, width) {
    return await readFile(join(this.results, `${id}-${width}.jpg`)).catch(() => undefined)
  }

  /** Removes files of uploads that were never answered, and of jobs that are kept no longer. Younger files may be those of an upload that is under way. */
  async removeOrphans() {
    for (const folder of [this.uploads, this.results]) {
      for (const name of readdirSync(folder)) {
        const path = join(folder, name)
        // A worker of an earlier server may just have given it another name.
        const stat = statSync(path, { throwIfNoEntry: false })
        const old = stat !== undefined && Date.now() - stat.mtimeMs > ORPHAN_AGE
        if (old && (name.endsWith('.part') || !(await this.queue.job(name.slice(0, ID_LENGTH))))) rmSync(path, { force: true })
      }
    }
  }

  #argsOf(id) {
    return [join(this.uploads, id), join(this.results, id), WIDTHS]
  }

  async #store(path, bytes) {
    const file = await open(`${path}.part`, 'w')
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(`${path}.part`, path)
    // The name is in the folder, which is a file of its own to the disk.
    const folder = await open(this.uploads)
    await folder.sync().finally(() => folder.close())
  }
}
