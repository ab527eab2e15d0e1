// The live page: server-sent events. Each client gets all pictures once, and those that change.

const EVENTS = ['waiting', 'active', 'progress', 'completed', 'failed', 'retrying', 'stalled']
const INTERVAL = 100
const MAX_BACKLOG = 1024 * 1024

export class Feed {
  #clients = new Set()
  #changed = new Set()
  #timer

  constructor(queue, pictures) {
    this.pictures = pictures
    // The job that paints a picture changes that picture.
    for (const name of EVENTS) queue.on(name, ({ id }) => this.#change(id.replace(/-paint$/, '')))
  }

  async subscribe(res) {
    res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    res.write('retry: 500\n\n')
    this.#clients.add(res)
    res.once('close', () => this.#clients.delete(res))
    try {
      const all = await this.pictures.list()
      this.#write(res, `event: all\ndata: ${JSON.stringify(all)}\n\n`)
      // What has changed while they were read is told again: they may be older than what the client was told meanwhile.
      for (const { id, endedAt } of all) if (endedAt === undefined) this.#change(id)
    } catch (error) {
      console.error(error.message)
      res.destroy()
    }
  }

  close() {
    clearTimeout(this.#timer)
    for (const res of this.#clients) res.end()
  }

  // Several events of a picture within the interval are told once.
  #change(id) {
    this.#changed.add(id)
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#tell().catch((error) => console.error(error.message))
    }, INTERVAL)
  }

  async #tell() {
    const ids = [...this.#changed]
    this.#changed.clear()
    for (const picture of await Promise.all(ids.map((id) => this.pictures.view(id)))) {
      if (picture === undefined) continue
      for (const res of this.#clients) this.#write(res, `event: picture\ndata: ${JSON.stringify(picture)}\n\n`)
    }
  }

  /** A client that does not read is disconnected; it gets everything again when it comes back. */
  #write(res, text) {
    if (res.writableLength > MAX_BACKLOG) res.destroy()
    else res.write(text)
  }
}
