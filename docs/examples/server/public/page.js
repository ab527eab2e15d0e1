// Draws the data of /live and sends the requests of the buttons. No build step, no library.

const $ = (id) => document.getElementById(id)
const KEEP = 60 * 4 // ticks in the sparkline: a minute
const LONG = 2_000 // ms after which a job stands out
const ANSWER_SHOWN = 10_000 // ms for which an answer covers the lower edge of a small screen

const FAULTS = [
  ['Segmentation fault', 'SIGSEGV, as from an addon', '/segfault'],
  ['process.abort()', 'what a V8 fatal error does', '/abort'],
  ['process.exit(7)', 'in the middle of a job', '/exit'],
  ['kill -9 a busy worker', 'its job runs again elsewhere', '/kill'],
  ['Busy loop', 'soft limit 200 ms: interrupted', '/spin'],
  ['Busy loop after await', 'hard limit 400 ms: killed', '/spin-after-await'],
  ['Leak memory', 'until the limit kills it', '/leak'],
  ['Throw an error', 'costs nobody anything', '/fail'],
  ['Await, then walk away', 'cancelled after 300 ms', '/nap?ms=5000'],
  ['Flood', '400 at once: some get a 503', '/flood'],
]

let limits = {}
let hostPid
let last
const history = []
const slots = new Map()
const opened = new Set() // the elements of journal entries that are shown whole, by id
let dragging = false // somebody moves the slider of the load
let answerTimer

// ---- the feed

const source = new EventSource('live')
source.addEventListener('open', () => setLink('on', 'live'))
source.addEventListener('error', () => setLink('off', 'the server does not answer; trying again'))
source.addEventListener('hello', (event) => {
  const hello = JSON.parse(event.data)
  limits = hello.limits
  // The server was restarted: its worker ids and its journal start again.
  if (hostPid !== hello.pid) {
    hostPid = hello.pid
    last = undefined
    for (const slot of slots.values()) slot.card.remove()
    slots.clear()
    $('journal').replaceChildren()
    opened.clear()
    resize()
  }
  for (const entry of hello.entries) drawEntry(entry)
})
source.addEventListener('tick', (event) => draw(JSON.parse(event.data)))
source.addEventListener('entry', (event) => {
  const entry = JSON.parse(event.data)
  drawEntry(entry)
  if (entry.kind === 'death' || entry.kind === 'recycled') markDeath(entry)
})

function setLink(state, text) {
  $('link').className = `link ${state}`
  $('link').textContent = text
}

// ---- figures

function draw(now) {
  const { pool, load, host } = now
  if (last) {
    const seconds = Math.max(0.05, (now.time - last.time) / 1_000)
    const done = ({ totals }) => totals.failed + totals.lost
    history.push({ good: (pool.totals.succeeded - last.pool.totals.succeeded) / seconds, bad: (done(pool) - done(last.pool)) / seconds })
    if (history.length > KEEP) history.shift()
  }
  last = now
  const rate = mean(history.slice(-8))
  $('rate').textContent = rate < 10 ? rate.toFixed(1) : Math.round(rate)
  drawSpark()

  $('queued').textContent = pool.queued
  $('max-queue').textContent = `of ${limits.maxQueue}`
  setBar($('queue-bar'), pool.queued / limits.maxQueue, 0.5, 0.9)
  $('running').textContent = pool.running

  const rows = [
    ['waits', pool.latency.wait],
    ['runs', pool.latency.run],
    ['both', pool.latency.roundTrip],
  ]
  $('latency').replaceChildren(...rows.map(([name, one]) => row(name, ms(one.p50), ms(one.p90), ms(one.p99))))

  $('loop').textContent = host.loopDelay.toFixed(1)
  $('host').textContent = `pid ${host.pid}, ${mb(host.rss)}, up ${duration(host.uptime)}`

  $('ok').textContent = load.ok.toLocaleString()
  $('failed').textContent = load.failed.toLocaleString()
  $('failed-box').classList.toggle('some', load.failed > 0)
  const { 200: ok, ...bad } = load.statuses
  $('statuses').textContent = ok !== load.sent && Object.keys(bad).length > 0 ? `(${counted(bad)})` : ''
  $('load-p50').textContent = ms(load.latency.p50)
  $('load-p99').textContent = ms(load.latency.p99)
  drawLoad(load.rate)

  drawWorkers(pool.workers)
}

function drawSpark() {
  const canvas = $('spark')
  const ratio = window.devicePixelRatio || 1
  const width = canvas.clientWidth
  const height = canvas.clientHeight
  canvas.width = width * ratio
  canvas.height = height * ratio
  const context = canvas.getContext('2d')
  context.scale(ratio, ratio)
  const style = getComputedStyle(document.documentElement)
  // Means over one second: single ticks of 250 ms are too noisy.
  const points = history.map((_, index) => mean(history.slice(Math.max(0, index - 3), index + 1)))
  const top = Math.max(10, ...points) * 1.05
  const step = width / (KEEP - 1)
  const x = (index) => width - (history.length - 1 - index) * step
  const y = (value) => height - 1 - (value / top) * (height - 3)
  if (points.length > 1) {
    const line = new Path2D()
    for (const [index, value] of points.entries()) line.lineTo(x(index), y(value))
    const area = new Path2D(line)
    area.lineTo(width, height)
    area.lineTo(x(0), height)
    context.fillStyle = context.strokeStyle = style.getPropertyValue('--accent')
    context.globalAlpha = 0.18
    context.fill(area)
    context.globalAlpha = 1
    context.lineWidth = 1.5
    context.stroke(line)
  }
  // A red mark for each tick in which a job failed or was lost.
  context.fillStyle = style.getPropertyValue('--bad')
  for (const [index, { bad }] of history.entries()) {
    if (bad > 0) context.fillRect(x(index) - 1, height - 7, 3, 7)
  }
}

function mean(ticks) {
  return ticks.reduce((sum, { good }) => sum + good, 0) / Math.max(1, ticks.length)
}

function row(...cells) {
  const line = document.createElement('tr')
  line.append(...cells.map((text, index) => element(index === 0 ? 'th' : 'td', '', text)))
  return line
}

function setBar(bar, share, high, over) {
  bar.style.width = `${Math.min(100, share * 100)}%`
  bar.className = share >= over ? 'over' : share >= high ? 'high' : ''
}

// ---- workers: a slot keeps its place on the page when its process is replaced

function drawWorkers(all) {
  const workers = all.filter(({ state }) => state !== 'dead')
  const seen = new Set(workers.map(({ id }) => id))
  for (const worker of workers) {
    let slot = slots.get(worker.id)
    if (!slot) {
      const vacant = [...slots.values()].find((one) => !seen.has(one.id))
      slot = vacant ?? newSlot()
      if (vacant) {
        slots.delete(vacant.id)
        restart(slot.card, 'replaced')
      }
      slot.id = worker.id
      slots.set(worker.id, slot)
    }
    fillSlot(slot, worker)
  }
  for (const [id, slot] of slots) {
    if (seen.has(id)) continue
    slot.card.className = 'worker dead'
    slot.state.textContent = 'dead'
    setJob(slot, undefined)
    // No replacement was started: the pool has become smaller.
    slot.missing = (slot.missing ?? 0) + 1
    if (slot.missing > 12) {
      slot.card.remove()
      slots.delete(id)
    }
  }
}

function newSlot() {
  const card = element('div', 'worker')
  const pid = element('span', 'pid')
  const state = element('span', 'state')
  const kill = element('button', 'kill', 'kill -9')
  kill.type = 'button'
  const job = element('div', 'job')
  const bar = element('i')
  const meter = element('div', 'bar')
  meter.append(bar)
  const rss = element('span')
  const jobs = element('span')
  const uptime = element('span')
  const facts = element('p', 'facts')
  facts.append(rss, jobs, uptime)
  const lastExit = element('p', 'last')
  const top = element('div', 'top')
  top.append(pid, state, kill)
  card.append(top, job, meter, facts, lastExit)
  $('workers').append(card)
  const slot = { card, pid, state, job, bar, rss, uptime, jobs, last: lastExit }
  kill.addEventListener('click', () => ask('POST', `kill?worker=${slot.id}`, 'kill -9'))
  return slot
}

function fillSlot(slot, worker) {
  slot.missing = 0
  const replaced = slot.card.classList.contains('replaced')
  slot.card.className = `worker ${worker.state}${replaced ? ' replaced' : ''}`
  slot.card.title = `worker ${worker.id}`
  slot.pid.textContent = worker.pid ?? '…'
  slot.state.textContent = worker.spare ? 'spare' : worker.state
  slot.rss.textContent = worker.rss ? mb(worker.rss) : '…'
  slot.uptime.textContent = `up ${duration(worker.uptime)}`
  slot.jobs.textContent = `${worker.jobs.toLocaleString()} job${worker.jobs === 1 ? '' : 's'}`
  setBar(slot.bar, worker.rss / limits.hardMemory, limits.maxMemory / limits.hardMemory, 0.9)
  setJob(slot, worker.job, worker.running, worker.writtenAhead)
}

function setJob(slot, job, running = 0, ahead = 0) {
  slot.job.className = job ? `job on${job.age > LONG ? ' long' : ''}` : 'job'
  const name = job ? `${job.name}${job.attempt > 1 ? ` (attempt ${job.attempt})` : ''}${running > 1 ? ` +${running - 1}` : ''}` : 'idle'
  slot.job.replaceChildren(element('span', 'name', name), element('span', '', job ? `${ms(job.age)} ms` : ahead ? `${ahead} ahead` : ''))
}

function markDeath(entry) {
  const old = slots.get(entry.worker)
  const replacement = slots.get(entry.replacement)
  // The replacement was on the page before the old worker exited: it takes its place.
  if (old && replacement) {
    old.card.replaceWith(replacement.card)
    slots.delete(entry.worker)
  }
  const slot = replacement ?? old
  if (!slot) return
  slot.last.textContent = `pid ${entry.pid}: ${entry.cause}`
  slot.last.title = entry.reason
  if (slot.id === entry.worker) {
    slot.card.className = 'worker dead'
    slot.state.textContent = 'dead'
  }
}

// Restarts a CSS animation, even while it is running.
function restart(card, name) {
  card.classList.remove(name)
  void card.offsetWidth
  card.classList.add(name)
  setTimeout(() => card.classList.remove(name), 2_500)
}

// ---- the journal

function drawEntry(entry) {
  const id = `entry-${entry.id}`
  const item = element('li', entry.kind)
  item.id = id
  const time = element('time', '', new Date(entry.time).toLocaleTimeString([], { hour12: false }))
  const text = element('div', 'text')
  if (entry.kind === 'death' || entry.kind === 'recycled') {
    text.append(element('b', '', entry.kind === 'death' ? entry.cause : 'recycled'), ` pid ${entry.pid}`)
    text.append(entry.newPid ? element('span', 'replacement', ` → pid ${entry.newPid}`) : ' …')
    const parts = [['signal', 'exit'].includes(entry.reason) ? '' : entry.reason, entry.jobs ? `${entry.jobs} job${entry.jobs > 1 ? 's' : ''} running` : 'idle']
    if (entry.after !== undefined) parts.push(entry.after ? `replaced in ${entry.after} ms` : 'replaced before it left')
    text.append(element('small', '', parts.filter(Boolean).join(' · ')))
  } else {
    text.append(element('b', '', entry.title), entry.times > 1 ? ` × ${entry.times}` : '')
    const detail = entry.error ? `${entry.error.name}: ${entry.error.message}` : entry.detail
    if (detail) text.append(element('small', '', detail))
    if (entry.error?.taskStack) text.append(element('small', 'stack', entry.error.taskStack))
  }
  item.append(time, text)
  const old = $(id)
  if (old) old.replaceWith(item)
  else $('journal').prepend(item)
  while ($('journal').children.length > 80) {
    opened.delete($('journal').lastChild.id)
    $('journal').lastChild.remove()
  }
  markCut(item)
}

// What does not fit in three lines opens on a click, or on Enter.
function markCut(item) {
  const text = item.lastChild
  const isOpen = opened.has(item.id)
  item.classList.toggle('open', isOpen)
  const isCut = isOpen || text.scrollHeight > text.clientHeight + 1
  item.classList.toggle('cut', isCut)
  if (isCut) for (const [name, value] of Object.entries({ role: 'button', tabindex: '0', 'aria-expanded': String(isOpen) })) text.setAttribute(name, value)
  else for (const name of ['role', 'tabindex', 'aria-expanded']) text.removeAttribute(name)
}

function toggle(item) {
  if (!item?.classList.contains('cut')) return
  if (!opened.delete(item.id)) opened.add(item.id)
  markCut(item)
}

$('journal').addEventListener('click', (event) => {
  // A text that is selected is not closed under the selection.
  if (getSelection().isCollapsed) toggle(event.target.closest('li'))
})
$('journal').addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' && event.key !== ' ') return
  event.preventDefault()
  toggle(event.target.closest('li'))
})
window.addEventListener('resize', () => {
  for (const item of $('journal').children) markCut(item)
})

// ---- buttons

for (const [title, note, path] of FAULTS) {
  const button = element('button', '', title)
  button.type = 'button'
  button.dataset.path = path
  button.append(element('small', '', note))
  button.addEventListener('click', () => (path.startsWith('/nap') ? disconnect(path) : ask('POST', path.slice(1), title)))
  $('faults').append(button)
}

async function ask(method, path, title) {
  show(`${title} …`)
  const began = performance.now()
  try {
    const res = await fetch(path, { method })
    const { error, statuses, killed } = await res.json()
    const detail = error ? `, ${error.message}` : statuses ? `, answers ${counted(statuses)}` : killed ? `, pid ${killed}` : ''
    show(`${title}: HTTP ${res.status} after ${ms(performance.now() - began)} ms${detail}`)
  } catch (error) {
    show(`${title}: ${error.message}`)
  }
}

async function disconnect(path) {
  show('waiting for an answer …')
  await fetch(path.slice(1), { signal: AbortSignal.timeout(300) }).catch(() => show('disconnected after 300 ms: the job is cancelled'))
}

function show(text) {
  $('answer').textContent = text
  $('answer').classList.add('shown')
  clearTimeout(answerTimer)
  answerTimer = setTimeout(hideAnswer, ANSWER_SHOWN)
}

function hideAnswer() {
  $('answer').classList.remove('shown')
}

$('answer').addEventListener('click', hideAnswer)

$('load').addEventListener('click', () => setLoad($('load').getAttribute('aria-pressed') === 'true' ? 0 : Number($('load-rate').value)))
$('load-rate').addEventListener('input', () => {
  dragging = true
  $('load-rate-text').textContent = $('load-rate').value
})
$('load-rate').addEventListener('change', () => {
  if ($('load').getAttribute('aria-pressed') === 'true') setLoad(Number($('load-rate').value))
})
for (const name of ['change', 'pointerup', 'keyup', 'blur']) {
  $('load-rate').addEventListener(name, () => {
    dragging = false
  })
}

async function setLoad(rate) {
  try {
    const res = await fetch(`load?rate=${rate}`, { method: 'POST' })
    drawLoad((await res.json()).rate)
  } catch (error) {
    show(`the load: ${error.message}`)
  }
}

// The rate is the server's: another page may have changed it.
function drawLoad(rate) {
  $('load').setAttribute('aria-pressed', String(rate > 0))
  $('load').textContent = rate > 0 ? 'Stop the load' : 'Start the load'
  if (rate === 0 || dragging) return
  $('load-rate').value = rate
  $('load-rate-text').textContent = rate
}

$('width').addEventListener('input', () => {
  $('width-text').textContent = $('width').value
})
$('resize').addEventListener('click', resize)
$('file').addEventListener('change', resize)

async function resize() {
  const file = $('file').files[0]
  const began = performance.now()
  try {
    const res = await fetch(`resize?width=${$('width').value}`, file ? { method: 'POST', body: file } : {})
    if (!res.ok) throw new Error(`HTTP ${res.status}: ${(await res.json()).error.message}`)
    const blob = await res.blob()
    URL.revokeObjectURL($('image').src)
    $('image').src = URL.createObjectURL(blob)
    $('image').hidden = false
    const { headers } = res
    $('image-note').textContent =
      `${headers.get('x-image-size')}, ${Math.round(blob.size / 1024)} KB, by pid ${headers.get('x-worker-pid')} in ${ms(performance.now() - began)} ms`
  } catch (error) {
    $('image-note').textContent = error.message
  }
}

// ---- text

function counted(statuses) {
  return Object.entries(statuses)
    .map(([status, count]) => `${status} × ${count}`)
    .join(', ')
}

function element(name, className = '', text = '') {
  const made = document.createElement(name)
  if (className) made.className = className
  if (text !== '') made.textContent = text
  return made
}

function ms(value) {
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString()
}

function mb(bytes) {
  return `${Math.round(bytes / 1024 / 1024)} MB`
}

function duration(value) {
  const seconds = Math.floor(value / 1_000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
}
