/** The built command line against a real RabbitMQ behind TLS. */
import { expect, test } from 'vitest'
import { withRabbit } from '../amqp/rabbit.js'
import { tlsListener } from '../amqp/tls-listener.js'
import { hasOpenssl, makeCertificates, PASSPHRASE } from '../fixtures/certificates.js'
import { ownNames, TASKS } from './processes.js'

withRabbit('the broker', () => {
  const { start } = ownNames()

  test.skipIf(!hasOpenssl)('behind TLS is reached with the files that the variables name', async () => {
    const certificates = makeCertificates()
    const listener = await tlsListener(process.env.RABBITMQ_URL ?? 'amqp://127.0.0.1:5672/', certificates)
    try {
      const { path } = certificates
      const { username, password, pathname } = new URL(process.env.RABBITMQ_URL ?? 'amqp://guest:guest@127.0.0.1:5672/')
      const RABBITMQ_URL = `amqps://${username}:${password}@localhost:${listener.port}${pathname}`
      const own = { RABBITMQ_TLS_CERT: path('client.pem'), RABBITMQ_TLS_KEY: path('client.key') }
      const env = { RABBITMQ_URL, RABBITMQ_TLS_CA: path('ca.pem'), ...own }
      const locked = { ...env, RABBITMQ_TLS_KEY: path('client.locked.key') }
      const opened = { ...locked, RABBITMQ_TLS_PASSPHRASE: `${PASSPHRASE}\n` }
      const node = start(['work', '--tasks', TASKS, '--name', 'epsilon', '--workers', '1', '--verbose'], opened)
      await node.says('"msg":"node up"')
      const shut = await Promise.all(
        [locked, { ...opened, RABBITMQ_TLS_PASSPHRASE: 's3cret' }].map((given) => start(['work', '--tasks', TASKS, '--verbose'], given).ended),
      )
      for (const { code, stdout, stderr } of shut) {
        expect(stderr).toMatch(/^prefork: RABBITMQ_TLS_CA, _CERT, _KEY and _PASSPHRASE cannot be used: .+, and the passphrase\.\n/)
        expect(stdout + stderr).not.toContain('s3cret')
        expect(code).toBe(2)
      }
      expect(await start(['publish', 'add'], { ...env, RABBITMQ_TLS_CA: TASKS }).ended).toMatchObject({
        code: 2,
        stderr: "prefork: RABBITMQ_TLS_CA must name a PEM file, with its line '-----BEGIN …'.\n",
      })
      expect(await start(['publish', 'add', '[1, 2]', '--wait'], env).ended).toMatchObject({ code: 0, stdout: '3\n' })
      expect((await start(['control', 'ping', '--node', 'epsilon'], env).ended).code).toBe(0)
      expect(await start(['dlq', 'list'], env).ended).toMatchObject({ code: 0, stdout: '' })
      expect(await start(['publish', 'add'], { RABBITMQ_URL, ...own }).ended).toMatchObject({ code: 4, stderr: expect.stringContaining('RABBITMQ_TLS_CA') })
      const byNumber = { ...env, RABBITMQ_URL: RABBITMQ_URL.replace('localhost', '127.0.0.1') }
      expect(await start(['publish', 'add'], byNumber).ended).toMatchObject({ code: 4, stderr: expect.stringContaining('RABBITMQ_TLS_SERVERNAME') })
      const named = { ...byNumber, RABBITMQ_TLS_SERVERNAME: 'localhost' }
      expect(await start(['publish', 'add', '[3, 4]', '--wait'], named).ended).toMatchObject({ code: 0, stdout: '7\n' })
      const { code, stdout, stderr } = await node.stop()
      expect(code).toBe(0)
      expect(stdout + stderr).not.toContain(PASSPHRASE)
    } finally {
      await listener.close()
      certificates.remove()
    }
  })
})
