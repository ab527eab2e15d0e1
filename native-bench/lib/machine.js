/** @import { Machine } from '../types.js' */
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { fileURLToPath } from 'node:url'
import { execaSync } from 'execa'

const here = fileURLToPath(new URL('.', import.meta.url))

/** @param {string[]} args */
const git = (...args) => execaSync('git', ['-C', here, ...args], { reject: false }).stdout ?? ''

/** The measured commit; "+" if the sources differ from it. */
const commitOf = () => {
  const commit = git('rev-parse', '--short', 'HEAD')
  if (commit === '') return 'unknown'
  return git('status', '--porcelain', '--', '../../src', '..') === '' ? commit : `${commit}+`
}

/** @param {readonly string[]} args @returns {Machine} */
export const machineOf = (args) => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cores: availableParallelism(),
  memoryGB: totalmem() / 1_024 ** 3,
  system: `${type()} ${release()}`,
  node: process.version,
  commit: commitOf(),
  date: new Date().toISOString().slice(0, 10),
  command: ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
})
