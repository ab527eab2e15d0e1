import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { expect, it } from 'vitest'

it('without amqplib the error names the command that installs it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prefork-no-client-'))
  try {
    for (const name of ['dist', 'package.json']) cpSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), join(folder, name), { recursive: true })
    writeFileSync(
      join(folder, 'main.js'),
      `import { createControlClient, createPublisher, createWorker } from './dist/amqp/index.js'
      // Rejects before a worker is started: this module is not loaded.
      const tasks = new URL('./no-such-module.js', import.meta.url)
      for (const creation of [createPublisher(), createControlClient(), createWorker({ tasks })])
        await creation.catch((error) => console.log(error.code, error.message))
      `,
    )
    const { stdout, stderr } = await execa(process.execPath, ['main.js'], { cwd: folder, reject: false, stripFinalNewline: false })
    expect(stderr).toBe('')
    const output = "ERR_PREFORK_AMQPLIB_MISSING RabbitMQ is reached through the package 'amqplib', which is not installed beside prefork: npm install amqplib\n"
    expect(stdout).toBe(output.repeat(3))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
