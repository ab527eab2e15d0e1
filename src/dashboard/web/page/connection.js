// The token, the stream of states, and requests. A header carries the token, never a cookie: a page of another site cannot send it.

const KEY = 'prefork-token'
/** ms without a word from the server after which the stream is opened again. */
const SILENCE = 10_000
const MAX_DELAY = 5_000

/** Taken out of the address, so that neither a screenshot nor a copied address shows it. Kept for this tab only. */
const takeToken = () => {
  const given = /[#&]token=([^&]+)/.exec(location.hash)?.[1]
  if (given !== undefined) {
    sessionStorage.setItem(KEY, given)
    history.replaceState(undefined, '', location.pathname)
  }
  return sessionStorage.getItem(KEY) ?? ''
}

let token = takeToken()

export const useToken = (given) => {
  token = given.trim()
  sessionStorage.setItem(KEY, token)
}

/** Calls `changed` when an address with another token is opened in this tab: the browser loads nothing then. */
export const onNewToken = (changed) =>
  addEventListener('hashchange', () => {
    const before = token
    token = takeToken()
    if (token !== before) changed()
  })

const headers = () => ({ authorization: `Bearer ${token}` })

/** The reason in a refusal, whatever sent it. */
const reasonOf = async (response) => {
  try {
    return (await response.json()).error ?? `HTTP ${response.status}`
  } catch {
    return `HTTP ${response.status}`
  }
}

/** Asks the server to do something. Rejects with an Error that says what was refused. */
export const ask = async (operation, fields) => {
  const response = await fetch(`/dashboard/api/${operation}`, {
    method: 'POST',
    headers: { ...headers(), 'content-type': 'application/json' },
    body: JSON.stringify(fields),
  }).catch(() => {
    throw new Error('the server does not answer')
  })
  if (!response.ok) throw new Error(await reasonOf(response))
  return (await response.json()).value
}

/** The events of a stream: `event:` and `data:` lines, a blank line after each event. */
const readEvents = async (body, onEvent) => {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const blocks = (rest + next.value).split('\n\n')
    rest = blocks.pop()
    for (const block of blocks) {
      const lines = block.split('\n')
      const field = (name) => lines.find((line) => line.startsWith(name))?.slice(name.length)
      const data = field('data: ')
      if (data !== undefined) onEvent(field('event: '), JSON.parse(data))
    }
  }
}

/** Keeps one stream open while the page is looked at. */
export class Stream {
  #view = {}
  #abort
  #handlers
  #delay = 0
  #wait

  /** `handlers`: onState, onHistory, onLost(text), onRefused(reason). */
  constructor(handlers) {
    this.#handlers = handlers
    document.addEventListener('visibilitychange', () => this.open())
  }

  /** `view`: what the server shall send: node, filter, order. Default as before. */
  open(view = this.#view) {
    this.#view = view
    this.#abort?.abort()
    clearTimeout(this.#wait)
    this.#delay = 0
    // Nothing is computed for a page that nobody looks at.
    if (document.visibilityState === 'visible') this.#run()
  }

  async #run() {
    const abort = new AbortController()
    this.#abort = abort
    const { onState, onHistory, onLost, onRefused } = this.#handlers
    let silence
    const listen = () => {
      clearTimeout(silence)
      silence = setTimeout(() => abort.abort(), SILENCE)
    }
    let reason = 'the server does not answer; trying again'
    try {
      listen()
      const response = await fetch(`/dashboard/api/live?${new URLSearchParams(this.#view)}`, { headers: headers(), signal: abort.signal })
      if (response.status === 401) {
        onRefused(token === '' ? '' : await reasonOf(response))
        return
      }
      if (!response.ok) reason = await reasonOf(response)
      else {
        await readEvents(response.body, (event, data) => {
          if (this.#abort !== abort) return
          listen()
          this.#delay = 0
          if (event === 'state') onState(data)
          else if (event === 'history') onHistory(data)
        })
      }
    } catch {
      // Below: opened again, unless it was replaced.
    } finally {
      clearTimeout(silence)
    }
    if (this.#abort !== abort || document.visibilityState !== 'visible') return
    onLost(reason)
    this.#delay = Math.min(MAX_DELAY, this.#delay === 0 ? 500 : this.#delay * 2)
    this.#wait = setTimeout(() => this.#run(), this.#delay)
  }
}
