/** The service of the guide under pm2, which is a daemon of its own here. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, it, onTestFinished } from 'vitest'
import { blocksOf, fileNameOf, readPage } from '../docs/document.js'
import { childrenOf, gone } from '../fixtures/support.js'
import { INSTALL_TIMEOUT, projectOf } from './packages.js'

const files = Object.fromEntries(
  blocksOf(readPage('docs/recipes.md'))
    .filter((block) => ['tasks.js', 'service.js', 'ecosystem.config.cjs'].includes(fileNameOf(block) ?? ''))
    .map((block) => [fileNameOf(block)!, block.text]),
)

interface Listed {
  readonly pid: number
  readonly pm2_env: { readonly status: string; readonly pm_out_log_path: string }
}

it(
  'is online when its pool is up, and closes it at a stop',
  async () => {
    const { folder } = await projectOf(['pm2'], files)
    const home = mkdtempSync(join(tmpdir(), 'prefork-pm2-'))
    const pm2 = async (...args: string[]): Promise<string> => {
      const { stdout } = await execa(process.execPath, ['node_modules/pm2/bin/pm2', ...args], { cwd: folder, env: { PM2_HOME: home }, timeout: 60_000 })
      return stdout
    }
    onTestFinished(async () => {
      await pm2('kill')
      rmSync(home, { recursive: true, force: true })
    })
    await pm2('start', 'ecosystem.config.cjs')
    const list = await pm2('jlist')
    const [started] = JSON.parse(list.slice(list.indexOf('[{'))) as Listed[]
    expect(started?.pm2_env.status).toBe('online')
    const log = () => readFileSync(started!.pm2_env.pm_out_log_path, 'utf8')
    // pm2 waits for the message 'ready', which follows this line.
    expect(log()).toBe('7 squared: 49\n')
    const workers = childrenOf(started!.pid).map(({ pid }) => pid)
    expect(workers).toHaveLength(1)

    await pm2('stop', 'service')
    await gone([started!.pid, ...workers])
    expect(log()).toBe('7 squared: 49\nclosed\n')
  },
  INSTALL_TIMEOUT,
)
