/** Used by the soak as well, so without the test runner. */
import { accessSync, constants } from 'node:fs'

/** The rabbitmq-server of this machine; undefined: there is none. */
export const serverBinary = ['/usr/lib/rabbitmq/bin/rabbitmq-server', '/usr/local/sbin/rabbitmq-server', '/opt/homebrew/sbin/rabbitmq-server'].find((path) => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
})

/** Waits for a condition; the error of the timeout names it. */
export const until = async (what: string, met: () => boolean | Promise<boolean>, timeout = 20_000): Promise<void> => {
  const end = performance.now() + timeout
  while (!(await met())) {
    if (performance.now() > end) throw new Error(`gave up waiting until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
