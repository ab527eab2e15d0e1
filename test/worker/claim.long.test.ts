import { describe } from 'vitest'
import { hammered } from './claim.js'

describe('claim word', () => {
  hammered([2, 3])
})
