import { describe } from 'vitest'
import { floods, inherited, leftAlone, logged, rawWrites, turns } from './output.js'

describe('promise 9: output of any kind', () => {
  inherited(['inherit'])
  floods(['ignore'])
  rawWrites(['ignore'])
  turns(['inherit', 'ignore'])
  leftAlone(['ignore'])
  logged(['ignore'])
})
