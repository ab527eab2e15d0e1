import { describe, expect, test } from 'vitest'
import { readOptions } from '../../../../src/pool/options.js'
import { inheritedEnv, inheritedExecArgv, inheritedNodeOptions } from '../../../../src/pool/worker/launch/inherited-options.js'

const DROPPED = [
  ['--inspect'],
  ['--inspect=0.0.0.0:9229'],
  ['--inspect-brk'],
  ['--inspect-wait'],
  ['--inspect-port', '9230'],
  ['--inspect-port=9230'],
  ['--inspect-publish-uid', 'stderr'],
  ['--eval', 'run()'],
  ['--eval=run()'],
  ['-e', '-1'],
  ['-p', 'process.pid'],
  ['-pe', '1 + 1'],
  ['--print', '-1'],
  ['-c'],
  ['--check'],
  ['-i'],
  ['--test'],
  ['--test-reporter', 'spec'],
  ['--test-name-pattern=x'],
  ['--experimental-test-coverage'],
  ['--watch'],
  ['--watch-path', './src'],
  ['--cpu-prof'],
  ['--cpu-prof-dir', '/tmp/profiles'],
  ['--heap-prof-dir=/tmp/profiles'],
  ['--input-type', 'module'],
]
const KEPT = [
  ['--max-old-space-size=256'],
  ['--require', './preload.cjs'],
  ['-r', './preload.cjs'],
  ['--import', 'tsx'],
  ['--conditions', 'development'],
  ['-C', 'development'],
  ['--enable-source-maps'],
  ['--stack-trace-limit=50'],
  ['--env-file=.env'],
  ['--expose-gc'],
]

describe("the host's execArgv", () => {
  test.each(DROPPED)('%s %s is not inherited, the options beside it are', (...option) => {
    expect(inheritedExecArgv(['--expose-gc', ...option.filter(Boolean), '--import', 'tsx'])).toEqual(['--expose-gc', '--import', 'tsx'])
  })

  test.each(KEPT)('%s %s is inherited', (...option) => {
    const args = option.filter(Boolean)
    expect(inheritedExecArgv(['--inspect', ...args, '--watch'])).toEqual(args)
  })

  test('is the default of execArgv', () => {
    const before = process.execArgv
    process.execArgv = ['--inspect=1', '--expose-gc', '--eval', 'x']
    try {
      expect(readOptions({ tasks: '/srv/tasks.js' }).execArgv).toEqual(['--expose-gc'])
    } finally {
      process.execArgv = before
    }
  })
})

describe("the host's NODE_OPTIONS", () => {
  test.each([
    ['--inspect', ''],
    ['--inspect-brk=9230  --max-old-space-size=256', '--max-old-space-size=256'],
    ['--inspect-port 9230 --expose-gc', '--expose-gc'],
    ['--require "/a dir/with \\"quotes\\".cjs" --inspect', '--require "/a dir/with \\"quotes\\".cjs"'],
    ['--import="data:text/javascript,import --inspect"', '--import="data:text/javascript,import --inspect"'],
    ['', ''],
  ])('%s becomes %s', (given, kept) => {
    expect(inheritedNodeOptions(given)).toBe(kept)
  })

  const host = { PATH: '/bin', NODE_OPTIONS: '--inspect --expose-gc' }

  test('are reduced in the environment that workers inherit, also when it was copied', () => {
    expect(inheritedEnv(host, host)).toEqual({ PATH: '/bin', NODE_OPTIONS: '--expose-gc' })
    expect(inheritedEnv({ ...host, A: '1' }, host)).toEqual({ PATH: '/bin', NODE_OPTIONS: '--expose-gc', A: '1' })
    expect(inheritedEnv({ NODE_OPTIONS: '--inspect' }, { NODE_OPTIONS: '--inspect' })).toEqual({})
  })

  test('that the caller has set are kept', () => {
    expect(inheritedEnv({ NODE_OPTIONS: '--inspect=0' }, host)).toEqual({ NODE_OPTIONS: '--inspect=0' })
    expect(inheritedEnv({ A: '1' }, host)).toEqual({ A: '1' })
    expect(inheritedEnv({ A: '1' }, {})).toEqual({ A: '1' })
  })

  test('are read when the pool is made; later changes of the host do not reach its workers', () => {
    process.env.PREFORK_TEST = 'then'
    const { env } = readOptions({ tasks: '/srv/tasks.js' })
    delete process.env.PREFORK_TEST
    expect(env.PREFORK_TEST).toBe('then')
    expect(env.PATH).toBe(process.env.PATH)
  })
})
