import { RemoteSource } from '../../dashboard/model/farm-source.js'
import { escapeControl } from '../../util/shown-text.js'
import { deferred } from '../../util/with-timeout.js'
import type { CliContext } from '../cli-context.js'
import { EXIT, type ExitCode } from '../exit.js'
import { listen } from '../http/listen.js'
import { deadLettersOf } from '../operations/dead-letters.js'
import { webDashboard } from '../operations/web-dashboard.js'
import { readBroker } from '../settings/broker.js'
import type { HttpSettings } from '../settings/http.js'
import type { Flags } from '../settings/setting.js'
import { onSignals } from '../signals.js'

/** Serves the dashboard of the nodes of a broker to browsers, until a signal ends it. */
export const topHttp = async (http: HttpSettings, flags: Flags, context: CliContext): Promise<ExitCode> => {
  const print = (text: string): void => void context.stdout.write(`${escapeControl(text)}\n`)
  const broker = readBroker(flags, context.env)
  const { promise: closed, resolve: quit } = deferred()
  const { dashboard, address } = await webDashboard(http, broker, (text) => print(`${new Date().toISOString()} ${text}`))
  const notFound = '{"error":"The dashboard is at /"}\n'
  const server = await listen(
    http,
    (request, response) => {
      if (dashboard.handle(request, response)) return
      response.writeHead(404, { 'content-type': 'application/json; charset=utf-8', 'content-length': notFound.length })
      response.end(notFound)
    },
    (error) => print(`The HTTP server has a problem: ${error.message}`),
  )
  const stopListening = onSignals(context.signals, { stop: () => quit(), quiet: () => false, resume() {} })
  try {
    const farm = await context.farm(broker)
    const client = await farm.createControlClient(broker, { timeout: 10_000 })
    try {
      await dashboard.open(new RemoteSource(client), deadLettersOf(farm, broker, flags))
      print(`The dashboard is at ${address(server.port)}\nIt is served until Ctrl-C.`)
      await closed
    } finally {
      await dashboard.close()
      await client.close()
    }
    return EXIT.ok
  } finally {
    stopListening()
    await server.close()
  }
}
