// The keys of the page. Each does what a button does; none works while somebody types, or in a dialog, but for the keys of the dialog.

import { $, element } from './elements.js'

/** For the page of help. `run` is named in `page.js`. */
const KEYS = [
  ['?', 'help', 'these keys'],
  ['/', 'filter', 'filter the list; Enter goes to the list, Esc clears the filter'],
  ['a', 'allNodes', 'all nodes together'],
  ['n', 'nextNode', 'the next node alone'],
  ['P', 'pause', 'pause the node, or let it go on'],
  ['+', 'grow', 'one worker more on the node'],
  ['-', 'shrink', 'one worker less on the node'],
  ['r', 'restart', 'replace the workers of the node, one after another (asks first)'],
  ['w', 'workers', 'to the workers; Enter shows the stack of one'],
  ['p', 'profile', 'sample the chosen worker for five seconds'],
  ['j', 'jobs', 'to the jobs; Enter shows one with its error, arguments and log'],
  ['o', 'order', 'the order of the jobs: newest, longest, task, state, attempts'],
  ['d', 'dead', 'to the dead letters, and back to the jobs'],
  ['h', 'hold', 'hold the list of jobs as it is, or follow the newest'],
  ['x', 'revoke', 'revoke the chosen job, or end it if it runs (asks first)'],
  ['R', 'retry', 'send the chosen dead letter, or failed job, back to its queue (asks first)'],
  ['A', 'retryAll', 'send all dead letters back that the filter finds (asks first)'],
  ['s', 'read', 'read the dead letters again'],
]
const OTHERS = [
  ['↑ ↓', 'choose in a list; also j and k, ← →, PgUp, PgDn, Home and End'],
  ['Tab', 'the next list, field or button'],
  ['Esc', 'close a dialog'],
]

const isTyping = ({ target }) => target.matches('input, select, textarea')

/** Presses the button of an open dialog that shows this key. */
const pressIn = (dialog, key) => {
  if (dialog.open) [...dialog.querySelectorAll('[data-key]')].find((each) => each.dataset.key === key)?.click()
}

/** `run`: by the name of a key's action; `list` goes to the list that is shown. */
export const listenToKeys = (run) => {
  for (const [key, text] of [...KEYS.map(([key, , text]) => [key, text]), ...OTHERS]) {
    const term = element('dt')
    term.append(...key.split(' ').map((each) => element('kbd', '', each)))
    $('keys').append(term, element('dd', '', text))
  }
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return
    if ($('confirm').open) {
      if (event.key === 'y') $('confirm-yes').click()
      return
    }
    if (document.querySelector('dialog[open]') !== null) {
      pressIn($('details'), event.key)
      return
    }
    if (isTyping(event)) {
      // The browser clears a field of this type at Esc.
      if (event.key === 'Escape' && event.target.matches('input')) event.target.blur()
      else if (event.key === 'Enter' && event.target === $('filter')) {
        // Or it would press the button that gets the focus.
        event.preventDefault()
        run.list()
      }
      return
    }
    // A key that is held would grow a node by thirty workers a second.
    if (event.repeat) return
    const action = KEYS.find(([key]) => key === event.key)?.[1]
    if (action === undefined || $('farm').hidden) return
    event.preventDefault()
    run[action]()
  })
}
