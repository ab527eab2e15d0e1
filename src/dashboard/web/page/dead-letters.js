// The dead letters: read when their list is opened, and sent back to their queues.

import { notify, retryLetter, retryMatching } from './actions.js'
import { ask } from './connection.js'
import { confirm, showLetter } from './details.js'
import { $, setText } from './elements.js'
import { createLetters } from './lists.js'
import { count, plural } from './text.js'

/** Those that were read last: how many there are, and the filter that they match. */
let dead = { filter: '', found: 0 }
/** Readings that were begun: the answer to an earlier one comes too late. */
let readings = 0

const letters = createLetters((letter) => showLetter(letter, askToRetry))

/** The dead letter of the row with the focus. */
export const focusedLetter = () => letters.focused

export const readDead = async () => {
  const mine = ++readings
  const filter = $('filter').value
  setText($('dead-note'), 'reading …')
  try {
    const answer = await ask('dead', { filter })
    if (mine === readings) showDead(filter, answer, deadNote(answer))
  } catch (error) {
    if (mine === readings) showDead(filter, { found: 0, shown: [] }, `They cannot be read: ${error.message}`)
  }
}

const deadNote = ({ count: there, cut, found, shown }) =>
  [
    there === undefined ? '' : `The broker has ${count(there)} and lists none; these are those that the nodes remember.`,
    found > shown.length ? `${shown.length} of ${count(found)}, the newest first` : plural(found, 'dead letter'),
    cut ? 'there may be more' : '',
  ]
    .filter((part) => part !== '')
    .join(' ')

const showDead = (filter, { found, shown }, note) => {
  dead = { filter, found }
  letters.show(shown)
  setText($('dead-note'), note)
  const isAll = filter.trim() === ''
  $('no-letters').hidden = found > 0
  setText($('no-letters'), isAll ? 'No dead letters.' : 'No dead letter that the filter finds.')
  $('retry-all').disabled = found === 0
  setText($('retry-all').firstElementChild, isAll ? 'Retry all' : `Retry these ${count(found)}`)
}

const retryOne = async (letter) => {
  await retryLetter(letter)
  if (!$('dead-panel').hidden) await readDead()
}

/** Of a dead letter, or of a job that has failed. */
export const askToRetry = (letter) => {
  if (letter.id === undefined) notify('This message has no id, so that it cannot be named: A sends all of them back.', true)
  else confirm(`Send ${letter.task ?? 'the job'} ${letter.id} back to ${letter.queue}?`, () => retryOne(letter))
}

/** Sends those back that were read last, with all others that their filter finds. */
export const retryFound = () => retryMatching(dead.filter, dead.found, readDead)
