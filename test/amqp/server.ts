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
