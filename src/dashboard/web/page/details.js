// The dialogs: a job, a worker, a dead letter, a question, the keys.

import { ask } from './connection.js'
import { $, button, element, setText } from './elements.js'
import { clock, moment, time, visible } from './text.js'

/** ms between two looks at a job that is shown. */
const REFRESH = 1_000
/** ms */
const PROFILE_TIME = 5_000
/** What an operator may send back to its queue. */
export const FAILED = new Set(['failure', 'soft_timeout', 'hard_timeout', 'lost'])
const ENDED = new Set(['success', 'failure', 'soft_timeout', 'hard_timeout', 'revoked', 'lost'])

export const closeAll = () => {
  for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close()
}

for (const dialog of document.querySelectorAll('dialog')) {
  for (const each of dialog.querySelectorAll('[data-close]')) each.addEventListener('click', () => dialog.close())
  // A click beside it.
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog) dialog.close()
  })
}

/** Asks, and runs `yes` when the answer is yes. */
export const confirm = (text, yes) => {
  setText($('confirm-text'), visible(text))
  $('confirm-yes').onclick = () => {
    $('confirm').close()
    yes()
  }
  $('confirm').showModal()
}

let shown = 0
let refresh

$('details').addEventListener('close', () => {
  // The event comes later: something else may be shown by then.
  if ($('details').open) return
  shown++
  clearTimeout(refresh)
})

/** Opens the dialog. `isCurrent` says later whether it still shows the same. */
const open = (title) => {
  const mine = ++shown
  clearTimeout(refresh)
  setText($('details-title'), visible(title))
  $('details-body').replaceChildren()
  if (!$('details').open) $('details').showModal()
  return () => mine === shown
}

/** Terms with their values; those without a value are left out. */
const facts = (pairs) => {
  const list = element('dl', 'facts')
  for (const [term, value] of pairs) {
    if (value === undefined || value === '') continue
    const pair = element('div')
    pair.append(element('dt', '', term), element('dd', '', visible(String(value))))
    list.append(pair)
  }
  return list
}

/** A heading with a text in it, if there is one. It is a stop of Tab, so that the keyboard can scroll it. */
const block = (heading, text, className = '') => {
  if (text === undefined || text === '') return []
  const pre = element('pre', className, visible(text))
  pre.tabIndex = 0
  pre.setAttribute('aria-label', heading)
  return [element('h3', '', heading), pre]
}

const attemptLines = (attempts = []) =>
  attempts.map(({ attempt, at, node, outcome, error }) => `attempt ${attempt}, ${moment(at)} on ${node}: ${outcome}, ${error}`).join('\n')

const rowOf = (...buttons) => {
  const row = element('div', 'row')
  row.append(...buttons)
  return row
}

const failedText = (what, error) => element('p', 'bad', `${what}: ${visible(error.message)}`)

const logLines = (logs) => logs.map(({ time: at, stream, text }) => `${clock(at)} ${stream === 'stderr' ? 'err' : '   '} ${text}`).join('\n')

/** Replaces the content where it has changed; a text keeps its place, and the end of a log is followed. */
const replaceBody = (parts) => {
  const body = $('details-body')
  const now = element('div')
  now.append(...parts)
  if (now.textContent === body.textContent) return
  const tops = new Map([...body.querySelectorAll('pre')].map((pre) => [pre.getAttribute('aria-label'), pre]))
  const focused = body.contains(document.activeElement) ? (document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent) : undefined
  body.replaceChildren(...now.childNodes)
  for (const pre of body.querySelectorAll('pre')) {
    const old = tops.get(pre.getAttribute('aria-label'))
    const wasAtEnd = old === undefined ? pre.classList.contains('log') : old.dataset.end === 'true'
    pre.scrollTop = wasAtEnd && pre.classList.contains('log') ? pre.scrollHeight : Number(old?.dataset.top ?? 0)
    pre.addEventListener('scroll', () => {
      pre.dataset.top = pre.scrollTop
      pre.dataset.end = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 4
    })
    pre.dataset.end = wasAtEnd
  }
  if (focused === undefined) return
  const again = [...body.querySelectorAll('pre, button')].find((each) => (each.getAttribute('aria-label') ?? each.textContent) === focused)
  again?.focus({ preventScroll: true })
}

/** `actions`: revoke(task), retry(task), stack(node, worker). */
export const showJob = (node, id, actions) => {
  const isCurrent = open(`Job ${id}`)
  const load = async () => {
    try {
      const task = await ask('job', { node, id })
      if (!isCurrent()) return
      if (task === null) replaceBody([element('p', 'note', 'The node has forgotten this job.')])
      else replaceBody(jobParts(task, actions))
      if (task !== null && !ENDED.has(task.status)) refresh = setTimeout(load, REFRESH)
    } catch (error) {
      if (isCurrent()) replaceBody([failedText('The job cannot be read', error)])
    }
  }
  load()
}

const jobParts = (task, { revoke, retry, stack }) => {
  const { name, node, queue, status, counts, received, started, ended, duration, worker, error, stack: errorStack, attempts, arguments: args, logs } = task
  setText($('details-title'), visible(name))
  const buttons = []
  if (!ENDED.has(status)) buttons.push(button(status === 'running' ? 'End it' : 'Revoke', () => revoke(task), '', 'x'))
  if (FAILED.has(status)) buttons.push(button('Retry', () => retry(task), '', 'R'))
  if (status === 'running' && worker !== undefined) buttons.push(button('Stack of its worker', () => stack(node, worker)))
  return [
    facts([
      ['state', status.replace('_', ' ')],
      ['id', task.id],
      ['node', node],
      ['worker', worker],
      ['queue', queue],
      ['attempt', counts.attempt],
      ['losses', counts.losses === 0 ? undefined : counts.losses],
      ['received', moment(received)],
      ['started', moment(started)],
      ['ended', moment(ended)],
      ['took', time(duration)],
    ]),
    ...(buttons.length === 0 ? [] : [rowOf(...buttons)]),
    ...block('Error', errorStack ?? error, 'error'),
    ...block('Runs that failed', attemptLines(attempts)),
    ...block('Arguments', args),
    ...block('Log', logLines(logs), 'log'),
  ]
}

/** A worker with its stack, or its profile. `jobOf`: the job that it runs now. */
export const showWorker = (node, id, { jobOf, showJob: look, isProfiled = false }) => {
  const isCurrent = open(`Worker ${id} of ${node}`)
  const load = async () => {
    const job = jobOf(node, id)
    const buttons = [button('Stack again', load), button(`Profile ${PROFILE_TIME / 1_000} s`, sample, '', 'p')]
    if (job !== undefined) buttons.push(button(`Job ${visible(job.name)}`, () => look(node, job.id)))
    const shownJob = facts([
      ['runs', job === undefined ? 'no job' : job.name],
      ['id', job?.id],
      ['for', job === undefined ? undefined : time(job.age)],
    ])
    try {
      const answer = await ask('command', { node, command: { command: 'stack', worker: id } })
      const text = typeof answer === 'string' ? answer : (answer?.stack ?? JSON.stringify(answer, null, 2))
      if (isCurrent()) replaceBody([shownJob, rowOf(...buttons), ...block('It executes', text)])
    } catch (error) {
      if (isCurrent()) replaceBody([shownJob, rowOf(...buttons), failedText('No stack', error)])
    }
  }
  const sample = async () => {
    replaceBody([element('p', 'note', `Sampling for ${PROFILE_TIME / 1_000} s. The worker goes on, and so does its job.`)])
    const again = () => rowOf(button('Stack', load), button('Profile again', sample, '', 'p'))
    try {
      const { profile, summary } = await ask('command', { node, command: { command: 'profile', worker: id, ms: PROFILE_TIME } })
      const file = button(
        'Download .cpuprofile',
        () => download(`${node.replace(/[^\w.-]/g, '_')}-worker-${id}.cpuprofile`, JSON.stringify(profile)),
        'primary',
      )
      const row = again()
      row.prepend(file)
      if (!isCurrent()) return
      replaceBody([row, element('p', 'note', 'Chrome DevTools opens the file.'), ...block('Where its time went', profileText(summary))])
      // The button that was pressed is gone. A screen reader reads what has come.
      $('details-body').querySelector('pre').focus({ preventScroll: true })
    } catch (error) {
      if (isCurrent()) replaceBody([again(), failedText('No profile', error)])
    }
  }
  if (isProfiled) sample()
  else load()
}

const percent = (share) => `${(share * 100).toFixed(1)} %`.padStart(7)

/** The heaviest calls as a tree. */
const profileText = ({ duration, samples, idle, calls }) =>
  [
    `${time(duration)}, ${samples} samples, idle ${percent(idle).trim()}`,
    '',
    '  total     self  call',
    ...calls.map(
      ({ total, self, depth, name, place }) => `${percent(total.share)}  ${percent(self.share)}  ${'  '.repeat(Math.min(depth, 20))}${name}  ${place}`,
    ),
  ].join('\n')

const download = (name, text) => {
  const link = element('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

/** `retry`: sends it back to its queue. */
export const showLetter = (letter, retry) => {
  open(letter.task ?? 'A message that cannot be read')
  const { id, queue, reason, at, node, attempt, losses, error, stack, attempts, arguments: args } = letter
  const send = () => {
    $('details').close()
    retry(letter)
  }
  const again = button('Retry', send, '', 'R')
  again.disabled = id === undefined
  replaceBody([
    facts([
      ['id', id],
      ['reason', reason],
      ['queue', queue],
      ['node', node],
      ['when', moment(at)],
      ['attempt', attempt],
      ['losses', losses === 0 ? undefined : losses],
    ]),
    rowOf(again),
    ...block('Error', stack ?? error, 'error'),
    ...block('Runs that failed', attemptLines(attempts)),
    ...block('Arguments', args),
  ])
}
