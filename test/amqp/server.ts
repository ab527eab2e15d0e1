/** The RabbitMQ that this machine can start, and a patient look at it. Nothing of the test runner: the soak uses it too. */
import { accessSync, constants } from 'node:fs'

/** Whether a private broker can be started here. */
export const serverBinary = ['/usr/lib/rabbitmq/bin/rabbitmq-server', '/usr/local/sbin/rabbitmq-server', '/opt/homebrew/sbin/rabbitmq-server'].find((path) => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
})

/** Waits for a condition, and says what it waited for. */
export const until = async (what: string, met: () => boolean | Promise<boolean>, timeout = 20_000): Promise<void> => {
  const end = performance.now() + timeout
  while (!(await met())) {
    if (performance.now() > end) throw new Error(`gave up waiting until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
