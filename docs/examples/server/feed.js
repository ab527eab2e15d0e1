// Server-sent events: one sampler for all connected browsers, none without a browser.

const INTERVAL = 250

export class Feed {
  #clients = new Set()
  #timer
  #greet
  #sample

  /** @param greet data for a new browser; @param sample data for all browsers, four times a second */
  constructor(greet, sample) {
    this.#greet = greet
    this.#sample = sample
  }

  subscribe(res) {
    res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    this.#clients.add(res)
    res.once('close', () => {
      this.#clients.delete(res)
      if (this.#clients.size === 0) clearInterval(this.#timer)
    })
    write(res, 'hello', this.#greet())
    write(res, 'tick', this.#sample())
    if (this.#clients.size === 1) this.#timer = setInterval(() => this.send('tick', this.#sample()), INTERVAL)
  }

  send(event, data) {
    for (const res of this.#clients) {
      // Ticks for a browser that does not read are dropped, so that they do not fill this process's memory.
      if (event === 'tick' && res.writableNeedDrain) continue
      write(res, event, data)
    }
  }

  close() {
    for (const res of this.#clients) res.end()
  }
}

function write(res, event, data) {
  res.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}
