// The lists of the page: nodes, workers, jobs and dead letters.

import { $, button, element, setClass, setText, showRows, withArrows } from './elements.js'
import { bytes, clock, count, moment, plural, rate, time, visible } from './text.js'

/** ms after which a worker whose event loop has not turned is stuck. */
const STUCK = 5_000

const GOOD = new Set(['running', 'success', 'up'])
const BUSY = new Set(['busy'])
const BAD = new Set(['failure', 'hard_timeout', 'lost', 'dead', 'gone', 'no broker', 'failed'])

/** The colour of a state. Its word says the same. */
const tone = (state) => (BAD.has(state) ? 'bad' : GOOD.has(state) ? 'good' : BUSY.has(state) ? 'busy' : state === 'pending' ? 'plain' : 'warn')
const taskTone = (status) => (status === 'running' ? 'busy' : tone(status))

/** A row of cells, by name. `labels`: what a narrow screen shows beside the value. */
const tableRow = (names, labels = {}) => {
  const row = element('tr')
  const cells = {}
  for (const name of names) {
    cells[name] = element('td', name)
    if (labels[name] !== undefined) cells[name].dataset.label = labels[name]
    row.append(cells[name])
  }
  return { element: row, cells }
}

const setState = (cell, state, shown = state) => {
  cell.firstElementChild ?? cell.append(element('span'))
  setClass(cell.firstElementChild, `state ${shown}`)
  setText(cell.firstElementChild, state)
}

// ---- nodes

const NODE_CELLS = ['name', 'status', 'alive', 'running', 'waiting', 'rate', 'done', 'failed', 'memory', 'up', 'commands']
const NODE_LABELS = { alive: 'workers', running: 'running', waiting: 'waiting', rate: 'jobs/s', done: 'done', failed: 'failed', memory: 'memory', up: 'up' }

const nodeState = ({ state, connected, heard, silentFor, gone }) => {
  if (gone !== undefined) return ['gone', 'bad']
  if (!heard) return ['unknown', 'warn']
  if (silentFor !== undefined) return [`silent for ${time(silentFor)}`, 'warn']
  if (state === undefined) return ['…', 'plain']
  return connected ? [state, tone(state)] : [`${state}, no broker`, 'bad']
}

const isPaused = ({ state }) => state === 'paused' || state === 'quiet'

/** `actions`: choose, pause, scale, restart, each with the node. */
export const createNodes = (actions) => {
  const create = (node) => {
    const { element: row, cells } = tableRow(NODE_CELLS, NODE_LABELS)
    const name = button(visible(node.name), () => actions.choose(node.name), 'link-like')
    cells.name.append(name, element('small'))
    const named = (text, label, run, className = '') => {
      const made = button(text, run, className)
      made.setAttribute('aria-label', `${label} ${visible(node.name)}`)
      return made
    }
    const pause = named('Pause', 'Pause', () => actions.pause(node.name), 'pause')
    const [less, more] = [
      named('−', 'One worker less on', () => actions.scale(node.name, -1)),
      named('+', 'One worker more on', () => actions.scale(node.name, 1)),
    ]
    const restart = named('Restart', 'Restart the workers of', () => actions.restart(node.name))
    cells.commands.append(pause, less, more, restart)
    return { element: row, cells, name, pause, buttons: [pause, less, more, restart] }
  }
  return (nodes, chosen) =>
    showRows($('nodes'), nodes, {
      key: ({ name }) => name,
      create,
      fill({ element: row, cells, name, pause, buttons }, node) {
        const { scale, totals, gone, queues } = node
        setClass(row, [gone === undefined ? '' : 'gone', node.name === chosen ? 'chosen' : ''].join(' ').trim())
        name.setAttribute('aria-pressed', String(node.name === chosen))
        setState(cells.status, ...nodeState(node))
        setText(cells.name.lastElementChild, visible(gone ?? (node.host === undefined ? '' : `${node.host} ${node.pid}, ${queues.join(', ')}`)))
        setText(cells.alive, scale === undefined ? '' : `${scale.alive} of ${scale.min}–${scale.max}`)
        setText(cells.running, node.running ?? '')
        setText(cells.waiting, node.depth === undefined ? '' : count(node.depth))
        setText(cells.rate, node.rate === undefined ? '' : rate(node.rate))
        setText(cells.done, totals === undefined ? '' : count(totals.succeeded))
        setText(cells.failed, totals === undefined ? '' : count(totals.failed))
        setText(cells.memory, node.rss === undefined ? '' : bytes(node.rss))
        setText(cells.up, time(node.uptime))
        setText(pause, isPaused(node) ? 'Resume' : 'Pause')
        pause.setAttribute('aria-label', `${isPaused(node) ? 'Resume' : 'Pause'} ${visible(node.name)}`)
        for (const each of buttons) each.disabled = gone !== undefined
      },
    })
}

// ---- workers

const workerState = ({ state, stalled }) =>
  stalled >= STUCK && state !== 'starting' && state !== 'dead' ? [`stuck ${time(stalled)}`, 'bad'] : [state, tone(state)]

const workerKey = ({ node, id }) => `${node} ${id}`

/** `look`: shows a worker. */
export const createWorkers = (look) => {
  const list = $('workers')
  const settle = withArrows(list, '.open')
  const create = (worker) => {
    const card = element('li', 'worker')
    const open = button(`${worker.id}`, () => look(worker.node, worker.id), 'open')
    open.dataset.worker = workerKey(worker)
    const [state, node, job, facts] = [element('span', 'state'), element('small', 'of'), element('p', 'job'), element('p', 'facts')]
    job.append(element('span', 'task'), element('span'))
    facts.append(element('span'), element('span'), element('span'))
    const top = element('div', 'top')
    top.append(open, state)
    card.append(top, node, job, facts)
    return { element: card, open, state, node, job, facts }
  }
  let current = []
  const show = ({ found, shown }, alone) => {
    current = shown
    showRows(list, shown, {
      key: workerKey,
      create,
      fill({ element: card, open, state, node, job, facts }, worker) {
        const [text, shownTone] = workerState(worker)
        setClass(card, `worker ${shownTone}`)
        setText(open, `Worker ${worker.id}`)
        setText(state, `${text}`)
        setText(node, alone ? `pid ${worker.pid ?? '…'}` : `${visible(worker.node)}, pid ${worker.pid ?? '…'}`)
        const more = worker.running > 1 ? ` +${worker.running - 1}` : ''
        setClass(job, worker.job === undefined ? 'job' : 'job on')
        setText(job.firstElementChild, worker.job === undefined ? 'idle' : `${visible(worker.job.name)}${more}`)
        setText(job.lastElementChild, worker.job === undefined ? '' : time(worker.job.age))
        const [memory, done, failed] = facts.children
        setText(memory, bytes(worker.rss))
        setText(done, `${count(worker.done)} done`)
        setText(failed, `${count(worker.failed)} failed`)
        setClass(failed, worker.failed > 0 ? 'bad' : '')
        open.setAttribute(
          'aria-label',
          `Worker ${worker.id} of ${visible(worker.node)}, ${text}, ${worker.job === undefined ? 'idle' : visible(worker.job.name)}: show its stack`,
        )
      },
    })
    setText($('workers-note'), found > shown.length ? `${shown.length} of ${found}: choose a node for the others` : '')
    settle()
  }
  return {
    show,
    /** The worker of the card with the focus. */
    get focused() {
      const key = document.activeElement?.dataset?.worker
      return current.find((worker) => workerKey(worker) === key)
    },
  }
}

// ---- jobs

const JOB_CELLS = ['status', 'task', 'id', 'node', 'try', 'by', 'changed', 'took', 'error']
const JOB_LABELS = { try: 'try', by: 'worker', took: 'took' }

const fillJob = ({ cells, open }, task) => {
  setState(cells.status, task.status, taskTone(task.status))
  setText(open, visible(task.name))
  setText(cells.id, visible(task.id))
  setText(cells.node, visible(task.node))
  setText(cells.try, task.counts.attempt)
  setText(cells.by, task.worker ?? '')
  setText(cells.changed, clock(task.changed))
  setText(cells.took, time(task.duration))
  setText(cells.error, visible(task.error ?? ''))
}

export const jobKey = ({ node, id }) => `${node} ${id}`

/**
 * The list follows the newest jobs. While a row has the focus, the pointer is on the list, or `Hold` is on, the rows stand as they are, kept up to
 * date, and the button says how many are newer: a row does not move away from under a finger.
 */
export const createJobs = (look) => {
  const list = $('jobs')
  const settle = withArrows(list, '.open')
  let current = { found: 0, shown: [] }
  /** As they are shown. */
  let rows = []
  let pinned = false
  let isPointed = false

  const create = (task) => {
    const { element: row, cells } = tableRow(JOB_CELLS, JOB_LABELS)
    const open = button('', () => look(task.node, task.id), 'open link-like')
    open.dataset.job = jobKey(task)
    cells.task.append(open)
    row.addEventListener('click', ({ target }) => {
      if (target !== open && getSelection().isCollapsed) look(task.node, task.id)
    })
    return { element: row, cells, open }
  }
  const draw = () => {
    const isHeld = rows.length > 0 && (pinned || isPointed || list.contains(document.activeElement))
    const now = new Map(current.shown.map((task) => [jobKey(task), task]))
    rows = isHeld ? rows.map((task) => now.get(jobKey(task)) ?? task) : current.shown
    const known = new Set(rows.map(jobKey))
    const newer = current.shown.filter((task) => !known.has(jobKey(task))).length
    showRows(list, rows, { key: jobKey, create, fill: fillJob })
    settle()
    $('newer').hidden = newer === 0
    setText($('newer'), `↑ ${newer}${newer === current.shown.length ? ' or more' : ''} newer`)
    setText($('jobs-note'), current.found > rows.length ? `${rows.length} of ${count(current.found)}` : plural(current.found, 'job'))
    $('no-jobs').hidden = rows.length > 0
    setText($('no-jobs'), $('filter').value.trim() === '' ? 'No job yet.' : 'No job that the filter finds.')
  }
  const release = () => {
    pinned = false
    isPointed = false
    rows = []
    $('hold').setAttribute('aria-pressed', 'false')
    if (list.contains(document.activeElement)) $('filter').focus()
    draw()
  }
  list.addEventListener('pointerenter', ({ pointerType }) => {
    isPointed = pointerType === 'mouse'
  })
  list.addEventListener('pointerleave', () => {
    isPointed = false
  })
  list.addEventListener('focusout', () => setTimeout(draw))
  $('newer').addEventListener('click', release)
  const toggle = () => {
    pinned = !pinned
    $('hold').setAttribute('aria-pressed', String(pinned))
    draw()
  }
  $('hold').addEventListener('click', toggle)
  return {
    show(tasks) {
      current = tasks
      draw()
    },
    /** Shows the newest: another filter, order or node was chosen. */
    release,
    toggle,
    /** The job of the row with the focus. */
    get focused() {
      const key = document.activeElement?.dataset?.job
      return rows.find((task) => jobKey(task) === key)
    },
  }
}

// ---- dead letters

const LETTER_CELLS = ['status', 'task', 'id', 'queue', 'try', 'changed', 'error']

export const createLetters = (look) => {
  const list = $('letters')
  const settle = withArrows(list, '.open')
  let shown = []
  return {
    show(letters) {
      shown = letters
      showRows(list, letters, {
        key: ({ key }) => key,
        create({ key }) {
          const { element: row, cells } = tableRow(LETTER_CELLS, { try: 'try' })
          // As it was read last: the row outlives a reading.
          const lookAtIt = () => look(shown.find((letter) => letter.key === key))
          const open = button('', lookAtIt, 'open link-like')
          open.dataset.letter = key
          cells.task.append(open)
          row.addEventListener('click', ({ target }) => {
            if (target !== open && getSelection().isCollapsed) lookAtIt()
          })
          return { element: row, cells, open }
        },
        fill({ cells, open }, letter) {
          setState(cells.status, letter.reason, 'bad')
          setText(open, visible(letter.task ?? '(unreadable)'))
          setText(cells.id, visible(letter.id ?? '(no id)'))
          setText(cells.queue, visible(letter.queue))
          setText(cells.try, letter.attempt)
          setText(cells.changed, moment(letter.at))
          setText(cells.error, visible(letter.error.split('\n', 1)[0]))
        },
      })
      settle()
    },
    get focused() {
      const key = document.activeElement?.dataset?.letter
      return shown.find((letter) => letter.key === key)
    },
  }
}
