// Puts the page together: the stream's states go to the lists and charts, keys and buttons to the actions.

import { notify, pause, restart, revoke, scale } from './actions.js'
import { Chart, linear, logarithmic } from './charts.js'
import { onNewToken, Stream, useToken } from './connection.js'
import { askToRetry, focusedLetter, readDead, retryFound } from './dead-letters.js'
import { FAILED, showJob, showWorker } from './details.js'
import { $, element, setClass, setText } from './elements.js'
import { listenToKeys } from './keys.js'
import { createJobs, createNodes, createWorkers } from './lists.js'
import { bytes, count, rate, time } from './text.js'

/** ms for which a chosen node may be missing: a server that was started again hears of its nodes one by one. */
const MISSING = 3_000

/** The last state. */
let state
/** The chosen node; undefined: all of them. */
let chosen
/** Since when the chosen node is in no state; undefined: it is there. */
let missingSince
let tab = 'jobs'
/** The first job of the next state gets the focus: the filter was entered. */
let isEntering = false

const jobActions = {
  revoke,
  retry: (task) => askToRetry({ ...task, task: task.name }),
  stack: (node, worker) => lookAtWorker(node, worker),
}
const lookAtJob = (node, id) => showJob(node, id, jobActions)
const lookAtWorker = (node, id, isProfiled = false) =>
  showWorker(node, id, {
    isProfiled,
    jobOf: (...named) => state?.workers.shown.find((worker) => worker.node === named[0] && worker.id === named[1])?.job,
    showJob: lookAtJob,
  })

const stateOf = (name) => state?.nodes.find((node) => node.name === name)
const togglePause = (name) => pause(name, ['paused', 'quiet'].includes(stateOf(name)?.state))

const showNodes = createNodes({ choose: (name) => choose(name === chosen ? undefined : name), pause: togglePause, scale, restart })
const workers = createWorkers((node, id) => lookAtWorker(node, id))
const jobs = createJobs(lookAtJob)

// ---- charts

const rateChart = new Chart($('rate-plot'), {
  series: [
    { className: 'ended', kind: 'area', of: ({ ended }) => ended },
    { className: 'failed', kind: 'bars', of: ({ failed }) => failed },
  ],
  scale: linear(rate),
  readout: $('rate-note'),
  read: ({ ended, failed }) => (ended === null ? 'not known' : `${rate(ended)} a second, ${rate(failed)} of them failed`),
  rest: () => 'ten minutes; failed in red',
})
const latencyChart = new Chart($('latency-plot'), {
  series: [
    { className: 'p99', kind: 'line', of: ({ latency }) => latency?.p99 },
    { className: 'median', kind: 'line', of: ({ latency }) => latency?.median },
  ],
  scale: logarithmic(time),
  readout: $('latency-note'),
  read: ({ latency }) => (latency ? `median ${time(latency.median)}, p99 ${time(latency.p99)}` : 'no run ended'),
  rest: () => 'median; p99 dotted',
})

const showHistory = (slots) => {
  const last = slots.findLast(({ latency }) => latency)?.latency
  setText($('latency'), last === undefined ? '–' : time(last.median))
  const highest = Math.max(0, ...slots.map(({ ended }) => ended ?? 0))
  rateChart.draw(slots, `Jobs per second in the last ten minutes: at most ${rate(highest)}`)
  latencyChart.draw(slots, last === undefined ? 'No run has ended' : `Time of a run: median ${time(last.median)}, p99 ${time(last.p99)} at last`)
}

// ---- states

const TOTALS = [
  ['succeeded', 'done'],
  ['failed', 'failed'],
  ['retried', 'retried'],
  ['lost', 'lost'],
  ['revoked', 'revoked'],
  ['deadLettered', 'dead letters'],
]
const totals = new Map(
  TOTALS.map(([name, text]) => {
    const pair = element('div')
    const value = element('dd')
    pair.append(element('dt', '', text), value)
    $('totals').append(pair)
    return [name, value]
  }),
)

const showState = (now) => {
  state = now
  showLink(now.connected, now.connected ? 'live' : 'the dashboard has lost its connection to the broker; it tries again')
  $('farm').hidden = false
  $('login').hidden = true
  setText($('title'), now.title)
  document.title = `prefork: ${rate(now.totals.rate)} jobs/s`
  const { running, depth, held, prefetch, workers: alive, busy, rss, rate: perSecond, jobs: ended } = now.totals
  setText($('rate'), rate(perSecond))
  setText($('running'), count(running))
  setText($('depth'), depth === undefined ? '–' : count(depth))
  setText($('held'), `${count(held)} of ${count(prefetch)}`)
  setText($('workers-alive'), `${count(alive)}, ${count(busy)} busy`)
  setText($('memory'), bytes(rss))
  for (const [name, value] of totals) {
    setText(value, count(ended[name]))
    setClass(value, ended[name] > 0 && ['failed', 'lost', 'deadLettered'].includes(name) ? 'bad' : '')
  }
  setText($('dead-count'), ended.deadLettered > 0 ? count(ended.deadLettered) : '')
  missingSince = chosen === undefined || stateOf(chosen) !== undefined ? undefined : (missingSince ?? performance.now())
  if (missingSince !== undefined && performance.now() - missingSince > MISSING) {
    notify(`${chosen} has gone`, true)
    choose(undefined)
    return
  }
  showNodes(now.nodes, chosen)
  setText($('nodes-note'), now.nodesFound > now.nodes.length ? `${now.nodes.length} of ${count(now.nodesFound)}, by name` : '')
  workers.show(now.workers, now.nodes.length === 1 || chosen !== undefined)
  jobs.show(now.tasks)
  if (!isEntering) return
  isEntering = false
  firstOf('jobs')
}

const showLink = (isOpen, text) => {
  setClass($('link'), `link ${isOpen ? 'on' : 'off'}`)
  setText($('link'), text)
  $('farm').classList.toggle('stale', !isOpen)
}

const stream = new Stream({
  onState: showState,
  onHistory: showHistory,
  onLost: (text) => showLink(false, text),
  onRefused(reason) {
    $('farm').hidden = true
    $('login').hidden = false
    showLink(false, 'no token')
    setText($('login-reason'), reason)
    $('token').focus()
  },
})

$('login').addEventListener('submit', (event) => {
  event.preventDefault()
  useToken($('token').value)
  $('token').value = ''
  reopen()
})

const reopen = () => {
  const view = { filter: $('filter').value, order: $('order').value }
  stream.open(chosen === undefined ? view : { ...view, node: chosen })
}

onNewToken(reopen)

const choose = (name) => {
  chosen = name
  missingSince = undefined
  $('all-nodes').setAttribute('aria-pressed', String(name === undefined))
  if (state !== undefined) showNodes(state.nodes, chosen)
  jobs.release()
  reopen()
}

// ---- the lists below

const chooseTab = (name) => {
  tab = name
  for (const each of ['jobs', 'dead']) {
    $(`tab-${each}`).setAttribute('aria-selected', String(each === name))
    $(`tab-${each}`).tabIndex = each === name ? 0 : -1
    $(`${each}-panel`).hidden = each !== name
  }
}

const openDead = () => {
  chooseTab('dead')
  return readDead()
}

let typed
const applyFilter = () => {
  clearTimeout(typed)
  jobs.release()
  reopen()
  return tab === 'dead' ? readDead() : undefined
}
$('filter').addEventListener('input', () => {
  clearTimeout(typed)
  typed = setTimeout(applyFilter, 250)
})
$('order').addEventListener('change', () => {
  jobs.release()
  reopen()
})
$('all-nodes').addEventListener('click', () => choose(undefined))
$('tab-jobs').addEventListener('click', () => chooseTab('jobs'))
$('tab-dead').addEventListener('click', openDead)
document.querySelector('[role=tablist]').addEventListener('keydown', (event) => {
  if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
  if (tab === 'jobs') openDead()
  else chooseTab('jobs')
  $(`tab-${tab}`).focus()
})
$('read-dead').addEventListener('click', readDead)
$('retry-all').addEventListener('click', retryFound)
$('show-help').addEventListener('click', () => $('help').showModal())

// ---- keys

/** Runs `action` with the chosen node, or with the only one. */
const onNode = (action) => () => {
  const there = state?.nodes.filter(({ gone }) => gone === undefined) ?? []
  const name = chosen ?? (there.length === 1 ? there[0].name : undefined)
  if (name === undefined) notify('Choose a node first: n', true)
  else action(name)
}

const firstOf = (list) => {
  const target = $(list).querySelector('.open[tabindex="0"]') ?? $(list).querySelector('.open')
  if (target === null) $('filter').focus()
  else target.focus()
}

listenToKeys({
  async list() {
    isEntering = tab === 'jobs'
    await applyFilter()
    if (tab === 'dead') firstOf('letters')
  },
  help: () => $('help').showModal(),
  filter: () => $('filter').focus(),
  allNodes: () => choose(undefined),
  nextNode() {
    const names = state?.nodes.map(({ name }) => name) ?? []
    choose(names[(names.indexOf(chosen) + 1) % names.length])
  },
  pause: onNode(togglePause),
  grow: onNode((name) => scale(name, 1)),
  shrink: onNode((name) => scale(name, -1)),
  restart: onNode(restart),
  workers: () => firstOf('workers'),
  jobs() {
    chooseTab('jobs')
    firstOf('jobs')
  },
  profile() {
    const worker = workers.focused
    if (worker === undefined) notify('Choose a worker first: w', true)
    else lookAtWorker(worker.node, worker.id, true)
  },
  order() {
    const { options, selectedIndex } = $('order')
    $('order').selectedIndex = (selectedIndex + 1) % options.length
    jobs.release()
    reopen()
  },
  async dead() {
    if (tab === 'dead') {
      chooseTab('jobs')
      firstOf('jobs')
      return
    }
    const reading = openDead()
    $('tab-dead').focus()
    await reading
    firstOf('letters')
  },
  hold: () => jobs.toggle(),
  revoke() {
    const task = jobs.focused
    if (task === undefined) notify('Choose a job first: j', true)
    else revoke(task)
  },
  retry() {
    const [letter, task] = [focusedLetter(), jobs.focused]
    if (letter !== undefined) askToRetry(letter)
    else if (task !== undefined && FAILED.has(task.status)) askToRetry({ ...task, task: task.name })
    else notify('Choose a dead letter first: d, or a job that has failed', true)
  },
  retryAll() {
    if (tab === 'dead' && !$('retry-all').disabled) retryFound()
    else notify('Read the dead letters first: d', true)
  },
  read() {
    if (tab === 'dead') readDead()
  },
})

reopen()
