import { describe } from 'vitest'
import { cancelledLoops } from './cancel.js'

describe('promise 4: a cancelled job', () => {
  cancelledLoops([
    ['beforeAwait', true],
    ['inTimer', false],
    ['inAsyncScope', false],
    ['execChild', false],
  ])
})
