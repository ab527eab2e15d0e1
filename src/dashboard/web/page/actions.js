// What an operator does: commands to nodes, and retries of dead letters. The outcome of each is a notice.

import { ask } from './connection.js'
import { confirm } from './details.js'
import { $, setClass, setText } from './elements.js'
import { plural, visible } from './text.js'

let hide

/** Shown, and read out, for some seconds. */
export const notify = (text, isBad = false) => {
  const notice = $('notice')
  // Anew, so that it is above a dialog that has opened meanwhile.
  if (notice.matches(':popover-open')) notice.hidePopover()
  notice.showPopover()
  setText(notice, visible(text))
  setClass(notice, isBad ? 'bad' : '')
  clearTimeout(hide)
  hide = setTimeout(() => notice.hidePopover(), isBad ? 10_000 : 5_000)
}

/** Runs `request`; its notice is `done(value)`. Resolves with whether it was carried out. */
const carryOut = async (what, request, done) => {
  notify(`${what} …`)
  try {
    const value = await request()
    notify(done(value))
    return true
  } catch (error) {
    notify(`${what}: ${error.message}`, true)
    return false
  }
}

const command = (node, fields, done = () => 'done') => {
  const what = `${node}: ${fields.command}`
  return carryOut(
    what,
    () => ask('command', { node, command: fields }),
    (value) => `${what}: ${done(value)}`,
  )
}

const wanted = (value) => (typeof value?.wanted === 'number' ? `${plural(value.wanted, 'worker')} wanted` : 'done')

export const pause = (node, isPaused) => command(node, { command: isPaused ? 'resume' : 'pause' })
export const scale = (node, by) => command(node, { command: by > 0 ? 'grow' : 'shrink', by: 1 }, wanted)
export const restart = (node) =>
  confirm(`Replace the workers of ${node}, one after another?`, () => command(node, { command: 'restart' }, () => 'its workers are being replaced'))

export const revoke = ({ node, id, name, status }) => {
  const runs = status === 'running'
  if (!runs && status !== 'pending' && status !== 'retried') {
    notify(`${name} ${id} has ended.`, true)
    return
  }
  confirm(`${runs ? 'End' : 'Revoke'} ${name} ${id}?`, () =>
    // A job that was to wait may have begun: the node says so.
    command(node, { command: 'revoke', id, terminate: runs }, (value) => `${name} ${id}: ${value?.outcome ?? 'done'}`),
  )
}

/** Resolves with whether it went back. */
export const retryLetter = ({ id, queue, task }) =>
  carryOut(
    `retry of ${task ?? id}`,
    async () => {
      const { sent } = await ask('retry', { queue, id })
      if (sent === 0) throw new Error('it is not among the dead letters any more')
    },
    () => `${task ?? 'the job'} ${id} is back in ${queue}`,
  )

/** `after`: called when they went back. */
export const retryMatching = (filter, found, after) => {
  const which = filter.trim() === '' ? 'all dead letters' : `the ${plural(found, 'dead letter')} that the filter finds`
  confirm(`Send ${which} back to ${filter.trim() === '' ? 'their queues' : 'the queues'}?`, async () => {
    const isDone = await carryOut(
      'retry',
      () => ask('retry', { filter }),
      ({ sent }) => `${plural(sent, 'job')} back in the queues`,
    )
    if (isDone) after()
  })
}
